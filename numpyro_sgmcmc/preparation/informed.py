"""The mean-field fit of many effects, in coordinates that follow from what the data say of each."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preparation.approach import Approach, units_of
from numpyro_sgmcmc.preparation.approximation import Approximation
from numpyro_sgmcmc.preparation.mean_field import mean_field
from numpyro_sgmcmc.preparation.stiffness import least_stiff
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import (
    EQUALLY_STIFF,
    FEW_FIT_SCALES,
    FIT_SCALES,
    MANY_EFFECTS,
    MOST_STIFF,
    NEARLY_KNOWN,
)


class Informed(NamedTuple):
    """Independent Gaussians, and the coordinates that they are for.

    Attributes:
        approximation: the Gaussians.
        centring: weights of the coordinates of effects, by site; None if effects are as in the
            model.
        stiffest: the largest curvature of an effect, in units of its inverse variance.
    """

    approximation: Approximation
    centring: dict[str, jax.Array] | None
    stiffest: float


def informed_fit(
    target: Target,
    key: jax.Array,
    start: jax.Array,
    effects: Sequence[str],
    approach: Approach | None = None,
) -> Informed:
    """Return the fit in coordinates of least stiffness, from a first fit of non-centred effects.

    The fit gives a standard normal effect x the variance v = 1 / E(1 + i s^2), so that its data
    have the information i = (1 / v - 1) / E(s^2). The scales s are those of the first fit. For
    other priors i is approximate. The weights are then not the best ones, and the posterior is the
    same. Weights that are fitted with the Gaussians, as in smaller models, would need longer: with
    many effects the gradient of each weight is small beside its noise.

    Where the fit shows that a scale is nearly known, the largest weight of about the least
    stiffness is taken: no row depends on the scale of centred effects, so that the gradient along
    it has no noise. Along the scale of other effects it has the noise of all their rows.

    Args:
        target: the model bound to its data.
        key: of minibatches, noise and draws.
        start: where the means start, (d,), in the coordinates of the model.
        effects: sites of effects that can move.
        approach: where the first fit starts instead and its units, in coordinates of non-centred
            effects; None if the posterior is near and on usual scales.

    Raises:
        ValueError: if the density has no finite integral along a coordinate.
    """
    key_first, key_draws, key_second = random.keys_of(key, 3)
    apart = non_centred(target, effects)
    from_there = start if approach is None else approach.position
    units = None if approach is None else approach.units
    first = mean_field(apart, key_first, from_there, units=units).approximation
    values, log_scales = apart.run(_scales, first, key_draws)

    def again(placed: Target, start: jax.Array) -> Approximation:
        if approach is None:
            return mean_field(placed, key_second, start).approximation
        draws = apart.run(_draws, first, jax.random.key(8))
        units = units_of(np.asarray(placed.run(_deviations, draws)))
        there = placed.run(_position, values)
        return mean_field(placed, key_second, there, units=jnp.asarray(units)).approximation

    log_scales = _known({name: np.asarray(log_scales[name], np.float64) for name in effects})
    variances = target.structure.by_site(first.spread.scale**2)
    found = {}
    for name, log_scale in log_scales.items():
        excess = np.maximum(1 / np.asarray(variances[name], np.float64) - 1, 0.0)
        information = excess / np.mean(np.exp(2 * log_scale), axis=0)
        slack = np.where(np.std(log_scale, axis=0) < NEARLY_KNOWN, EQUALLY_STIFF, 1.0)
        found[name] = least_stiff(log_scale, information, slack)
    stiffest = max((float(np.max(best.stiffness)) for best in found.values()), default=np.inf)
    if not stiffest < MOST_STIFF:  # The fit does not show how the scales vary.
        return Informed(again(target, start), None, 0.0)
    in_the_model = {image.site for image in target.structure.images(target.args, target.kwargs)}
    weights = {
        name: jnp.asarray(best.weights, start.dtype)
        for name, best in found.items()
        if name in in_the_model or np.any(best.weights < 1)
    }
    if not weights:  # All effects stay centred.
        return Informed(again(target, start), None, 0.0)
    placed = target.partly_centred(weights)
    return Informed(again(placed, placed.run(_position, values)), weights, stiffest)


def non_centred(target: Target, effects: Sequence[str]) -> Target:
    """Return the model with its effects, if any, in non-centred coordinates."""
    zeros = {name: jnp.zeros_like(target.structure.prototype[name]) for name in effects}
    return target.partly_centred(zeros or None)


def _known(log_scales: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the draws at which the model can compute all scales; nothing if these are few."""
    rows = np.stack([np.isfinite(x.reshape(len(x), -1)).all(1) for x in log_scales.values()])
    known = rows.all(0)
    return {name: x[known] for name, x in log_scales.items()} if known.mean() > 0.5 else {}


def _scales(
    view: View, approximation: Approximation, key: jax.Array
) -> tuple[dict[str, jax.Array], dict[str, jax.Array]]:
    """Return unconstrained values by site at the centre, and draws of log s by site of effects."""
    structure, coordinates = view.structure, view.structure.coordinates
    assert coordinates is not None
    dimension = approximation.centre.size
    points = approximation.draw(key, FIT_SCALES if dimension <= MANY_EFFECTS else FEW_FIT_SCALES)

    def log_scales_at(position: jax.Array) -> dict[str, jax.Array]:
        return coordinates.log_scales(structure.unravel(position))

    return structure.unravel(approximation.centre), jax.vmap(log_scales_at)(points)


def _draws(view: View, approximation: Approximation, key: jax.Array) -> dict[str, jax.Array]:
    """Return unconstrained values by site at draws, (draws, ...)."""
    points = approximation.draw(key, FEW_FIT_SCALES)
    return jax.vmap(view.structure.unravel)(points)


def _deviations(view: View, draws: dict[str, jax.Array]) -> jax.Array:
    """Return the standard deviation of each coordinate over such draws, (d,)."""
    return jnp.std(jax.vmap(view.structure.ravel)(draws), axis=0)


def _position(view: View, values: dict[str, jax.Array]) -> jax.Array:
    return view.structure.ravel(values)
