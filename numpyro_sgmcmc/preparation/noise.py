"""Measurements of gradient noise, in a preconditioner's coordinates."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.correction import (
    AbstractCorrection,
    CoupledCorrection,
    DenseCorrection,
    DiagonalCorrection,
)
from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor
from numpyro_sgmcmc.identity import identity_of
from numpyro_sgmcmc.preconditioner import AbstractLinearMap, Coupled
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import (
    CHANCE_OF_NOISE,
    DENSE_NOISE,
    NOISE_BATCH,
    NOISE_DRAWS,
    NOISY_DIRECTIONS,
    WALKERS,
    WIDE_NOISE_DRAWS,
    WIDE_NOISE_NUMBERS,
)


class Noise(NamedTuple):
    """Covariance V of S' g over minibatches.

    Attributes:
        largest: its largest eigenvalue.
        correction: V, or in high dimension as much of it as is measured.
        residual: largest eigenvalue of what the correction leaves of V, or takes out beyond it; 0
            if that is nothing.
        typical: the median of its variances.
        error: relative standard errors of the correction's variances, in its own form; None if they
            are not known.
    """

    largest: jax.Array
    correction: AbstractCorrection
    residual: jax.Array
    typical: jax.Array
    error: Any = None


def silence(like: jax.Array, dimension: int) -> Noise:
    """Return the noise of exact gradients."""
    zero = jnp.zeros_like(like)
    return Noise(zero, DiagonalCorrection(jnp.zeros(dimension, zero.dtype)), zero, zero)


def measured_noise(
    target: Target,
    key: jax.Array,
    gradient: AbstractGradient,
    preconditioner: AbstractLinearMap,
    anchor: Anchor | None,
    points: jax.Array | np.ndarray,
) -> Noise:
    """Return an estimator's gradient noise at typical points, in whitened coordinates."""
    measure, name = noise_program(gradient)
    return target.run(measure, anchor, preconditioner, points, key, name=name)


def noise_program(gradient: AbstractGradient) -> tuple[Callable, Any]:
    """Return the program of `measured_noise` and its name.

    The program takes an anchor, a preconditioner, points and a key.
    """

    def measure(view: View, anchor: Any, linear: Any, points: jax.Array, key: jax.Array) -> Noise:
        # The state of an estimator that follows the walker is taken at a typical point.
        return gradient_noise(view, gradient, anchor, points[-1], linear, points, key)

    return measure, (gradient_noise, identity_of(gradient))


def gradient_noise(
    view: View,
    gradient: AbstractGradient,
    anchor: Anchor | None,
    last_seen: jax.Array,
    linear: AbstractLinearMap,
    points: jax.Array,
    key: jax.Array,
) -> Noise:
    """Return the covariance of S' g over minibatches, averaged over the positions (points, d).

    The covariance is dense up to 500 dimensions. Above, it is measured along the coordinates and in
    the directions of a `Coupled` preconditioner. The estimator's state is that of a walker whose
    last position was `last_seen`.
    """
    dimension = points.shape[1]
    is_dense = dimension <= DENSE_NOISE
    count = NOISE_DRAWS
    if not is_dense:
        count = min(count, max(WIDE_NOISE_DRAWS, WIDE_NOISE_NUMBERS // dimension))
    each = max(2, count // len(points))
    state = gradient.init(view, last_seen, anchor)

    def centred(inputs: tuple[jax.Array, jax.Array]) -> jax.Array:
        position, key = inputs

        def draw(key: jax.Array) -> jax.Array:
            estimate, _ = gradient.estimate(view.potential, position, view.draw(key), state)
            return linear.transpose(estimate.gradient)

        draws = jax.lax.map(draw, random.split(key, each), batch_size=NOISE_BATCH)
        return (draws - draws.mean(0)) / jnp.sqrt(len(points) * (each - 1.0))

    inputs = (points, random.split(key, len(points)))
    found = jax.lax.map(centred, inputs)
    draws = found.reshape(-1, dimension)
    if not is_dense:
        return wide_noise(draws, linear, len(points))
    variances, axes = jnp.linalg.eigh(draws.T @ draws)
    variances = jnp.maximum(variances, 0.0)
    zero = jnp.zeros((), points.dtype)
    correction = DenseCorrection(variances, axes)
    error = replace(correction, variances=relative_error(draws @ axes, len(points)))
    return Noise(variances[-1], correction, zero, jnp.median(variances), error)


def relative_error(draws: jax.Array, points: int) -> jax.Array:
    """Return relative standard errors of the sums of squares of columns, (n, k) to (k,).

    The draws are those at one position after the other, and every eighth position is of the same
    walker. Walkers are independent of each other and their positions are not, so that the spread of
    the walkers' means counts, if it is larger than what independent positions would give. A
    Gaussian sample has the error sqrt(2 / n) at the least.
    """
    squares = jnp.sum(draws.reshape(points, -1, draws.shape[1]) ** 2, axis=1)
    mean = squares.mean(0)
    found = jnp.full_like(mean, (2 / len(draws)) ** 0.5)
    groups = [squares] if points > 1 else []
    if points % WALKERS == 0:
        groups.append(squares.reshape(-1, WALKERS, draws.shape[1]).mean(0))
    for each in groups:
        error = jnp.std(each, axis=0, ddof=1) / len(each) ** 0.5
        found = jnp.maximum(found, error / jnp.where(mean > 0, mean, 1.0))
    return found


def wide_noise(draws: jax.Array, linear: AbstractLinearMap, points: int | None = None) -> Noise:
    """Return the covariance of gradients, (n, d), whose matrix is too large to be formed.

    Args:
        draws: centred and scaled, so that V = draws' draws.
        linear: the preconditioner in whose coordinates the gradients are.
        points: number of positions, whose draws follow each other; None if errors are not needed.
    """
    correction: AbstractCorrection
    error: AbstractCorrection | None = None
    if isinstance(linear, Coupled):
        subspace = linear.subspace
        within = jax.vmap(subspace.coordinates)(draws)
        rest = draws - jax.vmap(subspace.vector)(within)
        share = subspace.diagonal_outside(jnp.ones_like(draws[0]))
        exists = share > 0
        outside = jnp.where(exists, jnp.sum(rest**2, axis=0) / jnp.where(exists, share, 1.0), 0.0)
        variances, axes = jnp.linalg.eigh(within.T @ within)
        correction = CoupledCorrection(outside, subspace, jnp.maximum(variances, 0.0), axes)
        if points is not None:
            inside = relative_error(within @ axes, points)
            error = replace(correction, outside=relative_error(rest, points), inside=inside)
    else:
        rest = draws
        outside = jnp.sum(draws**2, axis=0)
        exists = jnp.ones_like(outside, bool)
        correction = DiagonalCorrection(outside)
        if points is not None:
            error = DiagonalCorrection(relative_error(draws, points))
    excess, share = noisiest(rest / jnp.where(outside > 0, jnp.sqrt(outside), jnp.inf))
    along = share @ outside
    largest = jnp.maximum(correction.largest, (1 + excess) * along)
    # A shared parameter has nothing outside of the directions.
    typical = jnp.nanmedian(jnp.where(exists, outside, jnp.nan))
    return Noise(largest, correction, excess * along, typical, error)


def noisiest(draws: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the direction of largest variance u of a covariance I + s u u', given draws (n, d).

    The largest eigenvalue of the covariance of fewer draws than dimensions is too large even if s
    is 0, by a factor of about (1 + sqrt(d / n))^2. Therefore u is estimated from one half of the
    draws, and the variance 1 + e along it from the other half. With g = d / (n / 2) dimensions a
    draw the squared cosine of the estimate with u is (1 - g / s^2) / (1 + g / s) (Paul 2007,
    Statistica Sinica 17), so that e = (s^2 - g) / (s + g), which is solved for s. Where e might be
    0 by chance, s is e.

    Args:
        draws: centred and scaled, so that the diagonal of draws' draws is 1.

    Returns:
        s, and the squares of the entries of u, (d,).
    """
    first, second = draws[::2], draws[1::2]
    combinations = jnp.linalg.eigh(first @ first.T)[1][:, -NOISY_DIRECTIONS:]
    directions = first.T @ combinations
    length = jnp.linalg.norm(directions, axis=0)
    directions = directions / jnp.where(length > 0, length, 1.0)
    found = jnp.sum((second @ directions) ** 2, axis=0) * len(draws) / len(second)
    best = jnp.argmax(found)
    e = jnp.maximum(found[best] - 1.0, 0.0)
    by_chance = CHANCE_OF_NOISE * (2 / len(second)) ** 0.5
    ratio = draws.shape[1] / len(first)
    s = (e + jnp.sqrt(e**2 + 4 * ratio * (1 + e))) / 2
    return jnp.where(e > by_chance, s, e), directions[:, best] ** 2
