"""Measurements of curvature and gradient noise, in a preconditioner's coordinates."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.correction import AbstractCorrection, DenseCorrection, DiagonalCorrection
from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor
from numpyro_sgmcmc.preconditioner import AbstractLinearMap
from numpyro_sgmcmc.preparation.target import View
from numpyro_sgmcmc.preparation.thresholds import (
    DENSE_NOISE,
    NOISE_BATCH,
    NOISE_DRAWS,
    POWER_STEPS,
    WIDE_NOISE_DRAWS,
)


class Noise(NamedTuple):
    """Covariance V of S' g over minibatches: its largest eigenvalue, and a correction for it."""

    largest: jax.Array
    correction: AbstractCorrection


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


def gradient_noise(
    view: View,
    gradient: AbstractGradient,
    anchor: Anchor | None,
    last_seen: jax.Array,
    preconditioner: AbstractLinearMap,
    points: jax.Array,
    key: jax.Array,
) -> Noise:
    """Return the covariance of S' g over minibatches, averaged over the positions (points, d).

    The covariance is dense up to 500 dimensions. Above, its diagonal is computed, and the largest
    eigenvalue is that of the draws' Gram matrix. With few draws this eigenvalue is overestimated,
    which makes the step size smaller. The estimator's state is that of a walker whose last position
    was `last_seen`.
    """
    dimension = points.shape[1]
    is_dense = dimension <= DENSE_NOISE
    each = max(2, (NOISE_DRAWS if is_dense else WIDE_NOISE_DRAWS) // len(points))
    state = gradient.init(view, last_seen, anchor)

    def centred(inputs: tuple[jax.Array, jax.Array]) -> jax.Array:
        position, key = inputs

        def draw(key: jax.Array) -> jax.Array:
            estimate, _ = gradient.estimate(view.potential, position, view.draw(key), state)
            return preconditioner.transpose(estimate.gradient)

        draws = jax.lax.map(draw, random.split(key, each), batch_size=NOISE_BATCH)
        return (draws - draws.mean(0)) / jnp.sqrt(len(points) * (each - 1.0))

    inputs = (points, random.split(key, len(points)))
    if is_dense:

        def add(total: jax.Array, one: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, None]:
            draws = centred(one)
            return total + draws.T @ draws, None

        covariance, _ = jax.lax.scan(add, jnp.zeros((dimension, dimension), points.dtype), inputs)
        variances, axes = jnp.linalg.eigh(covariance)
        variances = jnp.maximum(variances, 0.0)
        return Noise(variances[-1], DenseCorrection(variances, axes))
    draws = jax.lax.map(centred, inputs).reshape(-1, dimension)
    correction = DiagonalCorrection(jnp.sum(draws**2, axis=0))
    return Noise(jnp.maximum(jnp.linalg.eigvalsh(draws @ draws.T)[-1], 0.0), correction)
