"""Noise of the gradient estimates of walkers with latents of rows."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.correction import DenseCorrection
from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents import LatentState, LatentTable
from numpyro_sgmcmc.preparation.noise import Noise
from numpyro_sgmcmc.preparation.target import View

NOISE_DRAWS = 256
"""Minibatch gradients of each walker from which the noise is measured."""


class Walkers(NamedTuple):
    """Walkers with their latents: positions (walkers, d), and states with the same leading axis."""

    positions: jax.Array
    latents: LatentState


def table_noise(view: View, linear: Any, walkers: Walkers, keys: jax.Array) -> Noise:
    """Return the covariance of S' g over minibatches, with each walker's table as it is."""

    def of_walker(inputs: tuple[jax.Array, LatentState, jax.Array]) -> jax.Array:
        position, state, key = inputs

        def draw(key: jax.Array) -> jax.Array:
            given = view.potential, position, view.draw(key), state
            return linear.transpose(LatentTable().estimate(*given)[0].gradient)

        draws = jax.lax.map(draw, random.split(key, NOISE_DRAWS))
        return jnp.cov(draws, rowvar=False).reshape(draws.shape[1], -1)

    covariance = jax.lax.map(of_walker, (*walkers, keys)).mean(0)
    variances, axes = jnp.linalg.eigh(covariance)
    variances = jnp.maximum(variances, 0.0)
    zero = jnp.zeros((), covariance.dtype)
    typical = jnp.median(variances)
    return Noise(variances[-1], DenseCorrection(variances, axes), zero, typical)
