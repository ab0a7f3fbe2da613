"""Mode and Laplace covariance of the logistic regression, as a user of NUTS would find them."""

import jax
import jax.numpy as jnp

from benchmarks.speed.logistic import gradient

LARGEST_STEPS = 20
CLOSE = 1e-4
"""Squared length, in posterior standard deviations, of the step after which the search ends."""


@jax.jit
def laplace(features: jax.Array, response: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the mode and the inverse Hessian there, by Newton's method in single precision."""

    def hessian(weights: jax.Array) -> jax.Array:
        chance = jax.nn.sigmoid(features @ weights)
        curvature = (chance * (1 - chance))[:, None]
        return (curvature * features).T @ features + jnp.eye(len(weights))

    def step(carry: tuple) -> tuple:
        weights, _, steps = carry
        slope = gradient(weights, features, response, 1.0)
        move = jnp.linalg.solve(hessian(weights), slope)
        return weights - move, move @ slope, steps + 1

    def unfinished(carry: tuple) -> jax.Array:
        return (carry[1] > CLOSE) & (carry[2] < LARGEST_STEPS)

    start = (jnp.zeros(features.shape[1]), jnp.array(jnp.inf), jnp.array(0))
    mode = jax.lax.while_loop(unfinished, step, start)[0]
    return mode, jnp.linalg.inv(hessian(mode))
