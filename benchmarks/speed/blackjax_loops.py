"""BlackJAX's `sgld` and `sghmc`, driven by a user's scan."""

from typing import Any

import blackjax
import jax
import jax.numpy as jnp
from blackjax.sgmcmc.gradients import grad_estimator

from benchmarks.speed.loops import Step, rows_of


def log_prior(weights: jax.Array) -> jax.Array:
    """Return the prior's log density, up to a constant."""
    return -0.5 * jnp.sum(weights**2)


def log_likelihood(weights: jax.Array, row: tuple[jax.Array, jax.Array]) -> jax.Array:
    """Return the log likelihood of one row."""
    x, y = row
    logit = x @ weights
    return y * logit - jax.nn.softplus(logit)


def langevin(step_size: float, batch: int, rows: int) -> Step:
    """Return a step of its SGLD."""
    sampler = blackjax.sgld(grad_estimator(log_prior, log_likelihood, rows))
    return _stepping(sampler, step_size, batch)


def hamiltonian(step_size: float, batch: int, rows: int, friction: float, leaps: int) -> Step:
    """Return a step of its SGHMC, which takes `leaps` gradients of one minibatch.

    It moves before it kicks, so the last of them never reaches the position.
    """
    estimator = grad_estimator(log_prior, log_likelihood, rows)
    sampler = blackjax.sghmc(estimator, leaps, alpha=friction)
    return _stepping(sampler, step_size, batch)


def _stepping(sampler: Any, step_size: float, batch: int) -> Step:
    def step(key: jax.Array, weights: Any, features: jax.Array, response: jax.Array) -> Any:
        key_step, key_rows = jax.random.split(key)
        minibatch = rows_of(key_rows, features, response, batch)
        return sampler.step(key_step, weights, minibatch, step_size)

    return step
