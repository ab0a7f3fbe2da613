"""Measured curvature and gradient noise, in a preconditioner's coordinates."""

from typing import Any

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.adaptation.target import View
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner

POWER_STEPS = 25
NOISE_DRAWS = 128
NOISE_BATCH = 16


def curvatures(
    view: View, preconditioner: AbstractPreconditioner, position: jax.Array, key: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return the largest eigenvalue (in modulus) of S' H S and an estimate of its mean eigenvalue.

    Power iteration on Hessian-vector products over blocks of the data; the mean is v' S' H S v / d
    for the random signs v that it starts from (Hutchinson).
    """

    def product(vector: jax.Array) -> jax.Array:
        moved = view.hessian_product(position, preconditioner.apply(vector))
        return preconditioner.transpose(moved)

    signs = jax.random.rademacher(key, position.shape, position.dtype)
    first = product(signs)
    mean = signs @ first / position.size

    def body(_: int, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        image, _ = carry
        norm = jnp.linalg.norm(image)
        vector = image / jnp.maximum(norm, jnp.finfo(image.dtype).tiny)
        image = product(vector)
        return image, jnp.linalg.norm(image)

    # The norm of the image of a unit vector never exceeds the largest modulus, and grows towards it.
    start = (first, jnp.linalg.norm(first) / jnp.sqrt(jnp.asarray(position.size, first.dtype)))
    _, largest = jax.lax.fori_loop(0, POWER_STEPS, body, start)
    return largest, mean


def gradient_noise(
    view: View,
    gradient: AbstractGradient,
    state: Any,
    preconditioner: AbstractPreconditioner,
    position: jax.Array,
    key: jax.Array,
) -> jax.Array:
    """Return the largest eigenvalue V of the covariance of S' g over minibatches at a position.

    From the Gram matrix of centred draws, whose eigenvalues are those of the sample covariance at
    any dimension. With few draws it errs upwards, which is the safe side for a step size.
    """

    def draw(key: jax.Array) -> jax.Array:
        estimate, _ = gradient.estimate(view.potential, position, view.draw(key), state)
        return preconditioner.transpose(estimate.gradient)

    keys = jax.random.split(key, NOISE_DRAWS)
    draws = jax.lax.map(draw, keys, batch_size=NOISE_BATCH)
    centred = draws - draws.mean(0)
    gram = centred @ centred.T / (NOISE_DRAWS - 1)
    return jnp.maximum(jnp.linalg.eigvalsh(gram)[-1], 0.0)
