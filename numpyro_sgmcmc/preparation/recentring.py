"""The choice of coordinates of effects between the centred and the non-centred form."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.preconditioner import Dense
from numpyro_sgmcmc.preparation.approximation import Approximation
from numpyro_sgmcmc.preparation.locate import Located, anchor_at
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.stiffness import least_stiff
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import PILOT_DRAWS, PILOT_SHARE
from numpyro_sgmcmc.preparation.warmup import warm_up
from numpyro_sgmcmc.preparation.warn import check_finite


def recentred(
    target: Target,
    key: jax.Array,
    options: Options,
    gradients: Sequence[AbstractGradient],
    located: Located,
    num_warmup: int,
) -> Located:
    """Return the start of a warm-up in coordinates of effects that are least stiff.

    A short warm-up in the coordinates of the mean-field fit shows how the scales vary over the
    posterior. The fit itself does not: it is too narrow where a scale's posterior reaches 0.

    Args:
        target: the model bound to its data, with effects as in the model.
        key: of the short warm-up and its draws.
        options: the user's choices.
        gradients: estimators to choose from, the preferred one first.
        located: the mean-field fit and its coordinates.
        num_warmup: number of NumPyro's warm-up iterations.

    Raises:
        ValueError: if U or its gradient is not finite at the centre of the new coordinates.
    """
    key_pilot, key_draws = random.keys_of(key, 2)
    pilot, length = target.partly_centred(located.centring), round(PILOT_SHARE * num_warmup)
    shown = warm_up(pilot, key_pilot, options, gradients, located, length).approximation
    assert shown is not None
    values, log_scales = pilot.run(_draws, shown, key_draws)
    log_scales = {name: np.asarray(draws, np.float64) for name, draws in log_scales.items()}
    centre = jax.tree.map(lambda draws: jnp.median(draws, axis=0), values)
    information = target.run(_information, centre, jax.tree.map(jnp.zeros_like, located.centring))
    found = {
        name: least_stiff(draws, np.asarray(information[name]))
        for name, draws in log_scales.items()
    }
    stiffest = max(float(np.max(best.stiffness)) for best in found.values())
    if not stiffest < float(jnp.finfo(shown.centre.dtype).max):
        return located  # The short warm-up did not show how the scales vary.
    weights = {name: jnp.asarray(best.weights, values[name].dtype) for name, best in found.items()}
    chosen = target.partly_centred(weights)
    points = chosen.run(moved, values)
    spread = target.run(linearised, shown, located.centring, weights)
    approximation = Approximation(jnp.median(points, axis=0), spread)
    anchor = anchor_at(chosen, approximation.centre)
    check_finite(anchor)
    return Located(approximation, anchor, located.other_modes, weights, stiffest)


def _draws(
    view: View, approximation: Approximation, key: jax.Array
) -> tuple[dict[str, jax.Array], dict[str, Any]]:
    """Return draws of unconstrained values by site, and log s at these."""
    points = approximation.draw(key, PILOT_DRAWS)
    values = jax.vmap(view.structure.unravel)(points)
    coordinates = view.structure.coordinates
    assert coordinates is not None
    return values, jax.vmap(coordinates.log_scales)(values)


def _information(
    view: View, centre: dict[str, jax.Array], zeros: dict[str, jax.Array]
) -> dict[str, jax.Array]:
    """Return the information of the data on each effect, at unconstrained values by site.

    Non-centred effects y have the curvature 1 + i s^2, where 1 is the prior's.
    """
    apart = view.partly_centred(zeros)
    coordinates = apart.structure.coordinates
    assert coordinates is not None
    _, _, hessian = apart.second_order(apart.structure.ravel(centre))
    curvatures = view.structure.by_site(jnp.diagonal(hessian))
    log_scales = coordinates.log_scales(centre)
    return {
        name: jnp.maximum(curvatures[name] - 1, 0.0) * jnp.exp(-2 * log_scale)
        for name, log_scale in log_scales.items()
    }


def linearised(
    view: View,
    approximation: Approximation,
    before: dict[str, jax.Array] | None,
    after: dict[str, jax.Array],
) -> Dense:
    """Return the map of an approximation in other coordinates, to first order at its centre.

    Args:
        view: of the model with effects as they are.
        approximation: with any linear map.
        before: weights of the approximation's coordinates by site of effects, None for the model's.
        after: weights of the other coordinates.
    """
    old, new = view.partly_centred(before).structure, view.partly_centred(after).structure

    def other(position: jax.Array) -> jax.Array:
        return new.ravel(old.unravel(position))

    centre, spread = approximation.centre, approximation.spread
    _, change = jax.linearize(other, centre)
    columns = jax.vmap(lambda unit: change(spread.apply(unit)), out_axes=1)
    return Dense(columns(jnp.eye(centre.size, dtype=centre.dtype)))


def moved(view: View, values: dict[str, jax.Array]) -> jax.Array:
    """Return the positions of unconstrained values by site, (draws, d)."""
    return jax.vmap(view.structure.ravel)(values)
