"""Measured curvature and gradient noise, in a preconditioner's coordinates."""

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.adaptation.target import View
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor
from numpyro_sgmcmc.preconditioner import AbstractLinearMap

POWER_STEPS = 25
NOISE_DRAWS = 128
NOISE_BATCH = 16


def curvatures(
    view: View, preconditioner: AbstractLinearMap, position: jax.Array, key: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return the largest eigenvalue (in modulus) of S' H S and an estimate of its mean eigenvalue.

    Power iteration on Hessian-vector products over blocks of the data; the mean is v' S' H S v / d
    for the random signs v that it starts from (Hutchinson).
    """
    tiny = jnp.finfo(position.dtype).tiny

    def body(count: jax.Array, carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        vector, _, mean = carry
        moved = view.hessian_product(position, preconditioner.apply(vector))
        image = preconditioner.transpose(moved)
        # The image of a unit vector is never longer than the largest modulus, and grows towards it.
        norm = jnp.linalg.norm(image)
        mean = jnp.where(count == 0, vector @ image, mean)
        return image / jnp.maximum(norm, tiny), norm, mean

    signs = jax.random.rademacher(key, position.shape, position.dtype)
    zero = jnp.zeros((), position.dtype)
    start = (signs / jnp.sqrt(position.size).astype(position.dtype), zero, zero)
    _, largest, mean = jax.lax.fori_loop(0, POWER_STEPS, body, start)
    return largest, mean


def gradient_noise(
    view: View,
    gradient: AbstractGradient,
    anchor: Anchor,
    last_seen: jax.Array,
    preconditioner: AbstractLinearMap,
    position: jax.Array,
    key: jax.Array,
) -> jax.Array:
    """Return the largest eigenvalue V of the covariance of S' g over minibatches at a position.

    From the Gram matrix of centred draws, whose eigenvalues are those of the sample covariance at
    any dimension. With few draws it errs upwards, which is the safe side for a step size. The
    estimator's state is that of a walker that was last at `last_seen`.
    """
    state = gradient.init(view, last_seen, anchor)

    def draw(key: jax.Array) -> jax.Array:
        estimate, _ = gradient.estimate(view.potential, position, view.draw(key), state)
        return preconditioner.transpose(estimate.gradient)

    keys = jax.random.split(key, NOISE_DRAWS)
    draws = jax.lax.map(draw, keys, batch_size=NOISE_BATCH)
    centred = draws - draws.mean(0)
    gram = centred @ centred.T / (NOISE_DRAWS - 1)
    return jnp.maximum(jnp.linalg.eigvalsh(gram)[-1], 0.0)
