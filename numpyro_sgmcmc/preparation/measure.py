"""Measurements of curvature, in a preconditioner's coordinates."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preconditioner import AbstractLinearMap
from numpyro_sgmcmc.preparation.target import View
from numpyro_sgmcmc.preparation.thresholds import POWER_STEPS

OUTER = 5.0, 95.0
"""Percentiles between which the trace of the Hessian is looked at."""

NORMAL_RANGE = 3.29
"""Distance of these percentiles of a normal distribution in standard deviations."""


class Curvature(NamedTuple):
    """Largest eigenvalue of S' H S in modulus, and its mean eigenvalue."""

    largest: jax.Array
    mean: jax.Array


def curvatures(
    view: View, preconditioner: AbstractLinearMap, position: jax.Array, key: jax.Array
) -> Curvature:
    """Return the curvature at a position, from all rows if they are few, else from many of them.

    Uses power iteration on Hessian-vector products. The mean is v' S' H S v / d, where the vector v
    of random signs is the start of the iteration (Hutchinson's estimator).
    """
    key_signs, key_rows = random.split(key)
    rows = view.many_rows(key_rows)

    def product(vector: jax.Array) -> jax.Array:
        moved = view.hessian_product_over(position, preconditioner.apply(vector), rows)
        return preconditioner.transpose(moved)

    return power_iteration(product, position, key_signs)


def power_iteration(
    product: Callable[[jax.Array], jax.Array], position: jax.Array, key: jax.Array
) -> Curvature:
    """Return the curvature of a linear map in the coordinates of a position."""
    tiny = jnp.finfo(position.dtype).tiny

    def body(count: jax.Array, carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        vector, _, mean = carry
        image = product(vector)
        # The norm of a unit vector's image increases to the largest modulus and never exceeds it.
        norm = jnp.linalg.norm(image)
        mean = jnp.where(count == 0, vector @ image, mean)
        return image / jnp.maximum(norm, tiny), norm, mean

    signs = random.signs(key, position.shape, position.dtype)
    zero = jnp.zeros((), position.dtype)
    start = (signs / jnp.sqrt(position.size).astype(position.dtype), zero, zero)
    _, largest, mean = jax.lax.fori_loop(0, POWER_STEPS, body, start)
    return Curvature(largest, mean)


def curvature_at(
    view: View, preconditioner: AbstractLinearMap, points: jax.Array, key: jax.Array
) -> Curvature:
    """Return the largest curvature at any of the points, and the mean one."""

    def one(inputs: tuple[jax.Array, jax.Array]) -> Curvature:
        return curvatures(view, preconditioner, *inputs)

    found = jax.lax.map(one, (points, random.split(key, len(points))))
    finite = jnp.where(jnp.isfinite(found.largest), found.largest, 0.0)
    mean = jnp.where(jnp.isfinite(found.mean), found.mean, 0.0)
    return Curvature(jnp.max(finite), jnp.mean(mean))


def trace_variation(
    view: View, preconditioner: AbstractLinearMap, points: jax.Array, key: jax.Array
) -> jax.Array:
    """Return the standard deviation of tr(S' H S) over the points, (points, d).

    The trace is v' S' H S v for a vector v of random signs (Hutchinson's estimator). All points
    share v and the rows, whose noise mostly cancels in their differences. The standard deviation is
    computed from outer percentiles, because few points far out in a tail must not decide. Quartiles
    would be too close: curvatures that grow with the square of a scale are skewed. For 310 effects
    with a scale near 0 the standard deviation is 10, and quartiles gave 4.
    """
    key_signs, key_rows = random.split(key)
    rows = view.many_rows(key_rows)
    signs = preconditioner.apply(random.signs(key_signs, points.shape[1:], points.dtype))

    def trace(position: jax.Array) -> jax.Array:
        return signs @ view.hessian_product_over(position, signs, rows)

    found = jax.lax.map(trace, points)
    low, high = jnp.nanpercentile(found, jnp.array(OUTER))
    return jnp.where(jnp.isfinite(high - low), (high - low) / NORMAL_RANGE, 0.0)
