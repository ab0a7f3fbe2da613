"""The way to a posterior that is far from where a fit starts, or on scales far from 1.

Adam's steps have one length for all coordinates, and a fit's steps together reach about a hundred.
Where responses are near 10^6, or columns have scales of 10^-4 to 10^4, no number of steps of one
length does. Steps of Rprop (Riedmiller and Braun 1993, "A direct adaptive method for faster
backpropagation learning") depend on the signs of gradients alone. With the last two gradients g and
g', a coordinate's step s grows while their signs agree, and is halved when they do not:

    s <- 1.2 s  if g g' > 0,     s <- s / 2  if g g' < 0,     z <- z - s sign(g).

`optax.rprop` makes no move where the sign has changed, and each move one step later. Steps are the
same in any units, and cover a distance of 10^7 first steps in 80 steps. With the gradients of
minibatches they come to rest where noise decides signs: about sqrt(N / B) posterior standard
deviations from the optimum. Adam goes on from there, in units that fit each coordinate.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preparation.adam import LARGEST
from numpyro_sgmcmc.preparation.divergence import divergence, draws_in
from numpyro_sgmcmc.preparation.mode import Mode, conditional_scale
from numpyro_sgmcmc.preparation.start_thresholds import (
    APPROACH_STEPS,
    FIRST_STEP,
    REACH,
    SMALLEST_SCALE,
    UNUSUAL,
    USUAL_SCALES,
)
from numpyro_sgmcmc.preparation.target import Target, View


class Approach(NamedTuple):
    """Where a fit starts, and in which units.

    Attributes:
        position: (d,).
        units: of each coordinate, (d,): 1 where its scale is in the usual range.
    """

    position: jax.Array
    units: jax.Array


def approached(target: Target, key: jax.Array, start: jax.Array) -> Approach | None:
    """Return where the posterior is, if a fit from `start` in units of 1 could not arrive there.

    Args:
        target: the model bound to its data.
        key: of minibatches and noise.
        start: flat position, (d,).

    Returns:
        None if the posterior is near and its scales are in the usual range.
    """
    centre, scale = (np.asarray(x) for x in target.run(_walked, key, start))
    if not (np.isfinite(centre).all() and np.isfinite(scale).all() and np.all(scale > 0)):
        return None
    if not _is_far(centre, np.asarray(start), scale):
        return None
    return Approach(jnp.asarray(centre), jnp.asarray(units_of(scale)))


def is_far(mode: Mode, start: jax.Array) -> bool:
    """Return whether a mode, sound or not, is out of a fit's reach or on unusual scales."""
    scale = np.asarray(conditional_scale(jnp.abs(jnp.diagonal(mode.hessian))))
    return _is_far(np.asarray(mode.position), np.asarray(start), scale)


def _is_far(centre: np.ndarray, start: np.ndarray, scale: np.ndarray) -> bool:
    units = units_of(scale)
    is_unusual = np.any((units < 1 / UNUSUAL) | (units > UNUSUAL))
    return bool(is_unusual or np.any(np.abs(centre - start) > REACH))


def units_of(scale: np.ndarray) -> np.ndarray:
    """Return units in which standard deviations are in the usual range, 1 where they are in it."""
    return (scale / np.clip(scale, *USUAL_SCALES)).astype(scale.dtype)


def _walked(view: View, key: jax.Array, start: jax.Array) -> tuple[jax.Array, jax.Array]:
    draws = draws_in(start.size)
    rprop = optax.rprop(FIRST_STEP, min_step_size=0.0, max_step_size=jnp.inf)
    optimizer = optax.chain(optax.clip(LARGEST), rprop)

    def body(carry: tuple, key: jax.Array) -> tuple[tuple, None]:
        params, last, state = carry
        gradient = jax.grad(lambda p: divergence(view, p[0], p[1], key, draws))(params)
        update, moved = optimizer.update(gradient, state, params)
        on = jnp.asarray(optax.apply_updates(params, update)), params, moved
        # Where the density is not known, half the steps lead on from the position before.
        halved = optax.tree.get(state, "step_sizes") / 2
        none = jnp.zeros_like(params)
        back = last, last, optax.tree.set(state, step_sizes=halved, prev_updates=none)
        is_known = ~jnp.any(jnp.isnan(gradient))
        return jax.tree.map(lambda a, b: jnp.where(is_known, a, b), on, back), None

    params = jnp.stack([start, jnp.full_like(start, jnp.log(SMALLEST_SCALE))])
    first = params, params, optimizer.init(params)
    (params, _, _), _ = jax.lax.scan(body, first, random.split(key, APPROACH_STEPS))
    return params[0], jnp.exp(params[1])
