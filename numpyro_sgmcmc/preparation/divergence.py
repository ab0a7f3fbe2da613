"""The divergence of independent Gaussians from the posterior, which fits decrease."""

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preparation.start_thresholds import FIT_DRAWS
from numpyro_sgmcmc.preparation.target import View
from numpyro_sgmcmc.preparation.thresholds import MANY_NUMBERS


def divergence(
    view: View, centre: jax.Array, log_scale: jax.Array, key: jax.Array, draws: int
) -> jax.Array:
    """Return an estimate of E U(m + s x) - sum log s, x ~ N(0, I), by a minibatch and some draws.

    Up to a constant this is the reverse Kullback-Leibler divergence of N(m, s^2) from exp(-U).
    """
    key_batch, key_noise = random.split(key)
    noise = random.normal(key_noise, (draws, centre.size), centre.dtype)
    batch = view.draw(key_batch)
    points = centre + jnp.exp(log_scale) * noise
    energies = jax.vmap(lambda z: view.potential(z, batch))(points)
    return jnp.mean(energies) - jnp.sum(log_scale)


def draws_in(dimension: int) -> int:
    """Return the draws of an estimate in so many dimensions."""
    return FIT_DRAWS if dimension < MANY_NUMBERS else 1
