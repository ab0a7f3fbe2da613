"""The way to a posterior that is far from where a fit starts, or on scales far from 1.

Adam's steps have one length for all coordinates, and a fit's steps together reach about a hundred.
Where responses are near 10^6, or columns have scales of 10^-4 to 10^4, no number of steps of one
length does. Steps of Rprop (Riedmiller and Braun 1993, "A direct adaptive method for faster
backpropagation learning", in the form of Igel and Huesken 2000) depend on the signs of gradients
alone. Each coordinate's step grows by a factor while its sign stays the same, and is halved when it
changes:

    s_j <- 1.2 s_j  if g_j g_j' > 0,     s_j / 2  if g_j g_j' < 0,     z_j <- z_j - s_j sign(g_j).

They are the same in any units, and cover a distance of 10^7 first steps in 80 steps. With the
gradients of minibatches they come to rest where noise decides signs: about sqrt(N / B) posterior
standard deviations from the optimum. Adam goes on from there, in units that fit each coordinate.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preparation.divergence import divergence, draws_in
from numpyro_sgmcmc.preparation.mode import Mode, conditional_scale
from numpyro_sgmcmc.preparation.start_thresholds import (
    APPROACH_STEPS,
    FIRST_STEP,
    GROWTH,
    REACH,
    SHRINKING,
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


class _Walk(NamedTuple):
    """Rprop after some steps; each array is (2, d), for centres and logarithms of scales."""

    params: jax.Array
    last: jax.Array
    sign: jax.Array
    size: jax.Array


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

    def gradient_at(params: jax.Array, key: jax.Array) -> jax.Array:
        return jax.grad(lambda p: divergence(view, p[0], p[1], key, draws))(params)

    def body(walk: _Walk, key: jax.Array) -> tuple[_Walk, None]:
        gradient = gradient_at(walk.params, key)
        is_known = jnp.all(~jnp.isnan(gradient))
        return jax.tree.map(
            lambda a, b: jnp.where(is_known, a, b), _moved(walk, gradient), _back(walk)
        ), None

    params = jnp.stack([start, jnp.full_like(start, jnp.log(SMALLEST_SCALE))])
    none = jnp.zeros_like(params)
    first = _Walk(params, params, none, jnp.full_like(params, FIRST_STEP))
    walk, _ = jax.lax.scan(body, first, random.split(key, APPROACH_STEPS))
    return walk.params[0], jnp.exp(walk.params[1])


def _moved(walk: _Walk, gradient: jax.Array) -> _Walk:
    sign = jnp.sign(gradient)
    agrees = sign * walk.sign
    factor = jnp.where(agrees > 0, GROWTH, jnp.where(agrees < 0, SHRINKING, 1.0))
    size = (walk.size * factor).astype(walk.size.dtype)
    sign = jnp.where(agrees < 0, 0.0, sign)  # The next sign is no second change.
    return _Walk(walk.params - size * sign, walk.params, sign, size)


def _back(walk: _Walk) -> _Walk:
    """Return to the position before, where the gradient was known, with half the steps."""
    return walk._replace(params=walk.last, size=walk.size * SHRINKING)
