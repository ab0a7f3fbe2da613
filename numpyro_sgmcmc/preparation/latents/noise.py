"""Noise of the gradient estimates of walkers with latents of rows."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.correction import DenseCorrection
from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.latents import LatentState
from numpyro_sgmcmc.preparation.noise import Noise, wide_noise
from numpyro_sgmcmc.preparation.target import View
from numpyro_sgmcmc.preparation.thresholds import DENSE_NOISE, WIDE_NOISE_DRAWS, WIDE_NOISE_NUMBERS

NOISE_DRAWS = 256
"""Minibatch gradients of each walker from which the noise is measured."""


class Walkers(NamedTuple):
    """Walkers with their latents: positions (walkers, d), and states with the same leading axis."""

    positions: jax.Array
    latents: LatentState


def noise_at_latents(
    view: View, gradient: AbstractGradient, linear: Any, walkers: Walkers, keys: jax.Array
) -> Noise:
    """Return the covariance of S' g over minibatches and moves, at each walker's state as it is.

    Above 500 dimensions it is measured along the coordinates, as by `gradient_noise`.
    """
    dimension = walkers.positions.shape[1]
    count = NOISE_DRAWS
    if dimension > DENSE_NOISE:
        each = max(WIDE_NOISE_DRAWS, WIDE_NOISE_NUMBERS // dimension)
        count = min(count, max(2, each // len(keys)))

    def drawn(inputs: tuple[jax.Array, LatentState, jax.Array]) -> jax.Array:
        position, state, key = inputs

        def draw(state: LatentState, key: jax.Array) -> tuple[LatentState, jax.Array]:
            minibatch = view.draw(key)
            (numbers,) = minibatch.indices.values()
            estimate, after = gradient.estimate(view.potential, position, minibatch, state)
            # The rows are put back in place, because each draw would make a copy of all.
            same = state._replace(rows=after.rows.at[numbers].set(state.rows[numbers]))
            return same, linear.transpose(estimate.gradient)

        return jax.lax.scan(draw, state, random.split(key, count))[1]

    def covariance_of(inputs: tuple[jax.Array, LatentState, jax.Array]) -> jax.Array:
        return jnp.cov(drawn(inputs), rowvar=False).reshape(dimension, -1)

    def centred(inputs: tuple[jax.Array, LatentState, jax.Array]) -> jax.Array:
        draws = drawn(inputs)
        return (draws - draws.mean(0)) / jnp.sqrt(len(keys) * (count - 1.0))

    inputs = (*walkers, keys)
    if dimension > DENSE_NOISE:
        return wide_noise(jax.lax.map(centred, inputs).reshape(-1, dimension), linear)
    covariance = jax.lax.map(covariance_of, inputs).mean(0)
    variances, axes = jnp.linalg.eigh(covariance)
    variances = jnp.maximum(variances, 0.0)
    zero = jnp.zeros((), covariance.dtype)
    typical = jnp.median(variances)
    return Noise(variances[-1], DenseCorrection(variances, axes), zero, typical)
