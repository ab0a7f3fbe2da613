"""The loops that a user would write: `lax.scan` with `randint` and gather, every draw kept.

A loop takes (key, weights, features, response); so do the minibatch gradients within it.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed.logistic import gradient

Loop = Callable[..., Any]
Step = Callable[[jax.Array, Any, jax.Array, jax.Array], Any]
Rows = Callable[[jax.Array, jax.Array, jax.Array, int], tuple]


def rows_of(key: jax.Array, features: jax.Array, response: jax.Array, batch: int) -> tuple:
    """Return a minibatch drawn with replacement."""
    index = jax.random.randint(key, (batch,), 0, len(features))
    return features[index], response[index]


def block_of(key: jax.Array, features: jax.Array, response: jax.Array, batch: int) -> tuple:
    """Return one of the blocks of rows that follow one another."""
    begin = batch * jax.random.randint(key, (), 0, len(features) // batch)
    return tuple(jax.lax.dynamic_slice_in_dim(x, begin, batch) for x in (features, response))


def loop(step: Step, start: Callable[[jax.Array], Any], steps: int) -> Loop:
    """Return a compiled scan of `step`, which takes (key, state, features, response).

    A state's first leaf is the position.
    """

    @jax.jit
    def run(key: jax.Array, weights: jax.Array, features: jax.Array, response: jax.Array) -> Any:
        def body(carry: tuple, _: None) -> tuple:
            key, state = carry
            key, subkey = jax.random.split(key)
            state = step(subkey, state, features, response)
            return (key, state), jax.tree.leaves(state)[0]

        return jax.lax.scan(body, (key, start(weights)), None, length=steps)

    return run


def langevin(step_size: float, batch: int, rows: Rows = rows_of) -> Step:
    """Return a step of SGLD; the state is the position."""

    def step(key: jax.Array, weights: Any, features: jax.Array, response: jax.Array) -> Any:
        key_noise, key_rows = jax.random.split(key)
        x, y = rows(key_rows, features, response, batch)
        force = gradient(weights, x, y, len(features) / batch)
        noise = jax.random.normal(key_noise, weights.shape)
        return weights - step_size * force + jnp.sqrt(2 * step_size) * noise

    return step


def fixed_point(step_size: float, batch: int, anchor: jax.Array, whole: jax.Array) -> Step:
    """Return a step of SGLD with control variates; `whole` is the gradient at the anchor."""

    def step(key: jax.Array, weights: Any, features: jax.Array, response: jax.Array) -> Any:
        key_noise, key_rows = jax.random.split(key)
        x, y = rows_of(key_rows, features, response, batch)
        scale = len(features) / batch
        force = gradient(weights, x, y, scale) - gradient(anchor, x, y, scale) + whole
        noise = jax.random.normal(key_noise, weights.shape)
        return weights - step_size * force + jnp.sqrt(2 * step_size) * noise

    return step


def splitting(step_size: float, batch: int, friction: float) -> Step:
    """Return a step of SGHMC by symmetric splitting; the state is position and momentum."""
    damp = jnp.exp(-0.5 * friction * step_size)
    spread = jnp.sqrt(2 * friction * step_size)

    def step(key: jax.Array, state: Any, features: jax.Array, response: jax.Array) -> Any:
        weights, momentum = state
        key_noise, key_rows = jax.random.split(key)
        x, y = rows_of(key_rows, features, response, batch)
        weights = weights + 0.5 * step_size * momentum
        force = gradient(weights, x, y, len(features) / batch)
        noise = jax.random.normal(key_noise, weights.shape)
        momentum = damp * (damp * momentum - step_size * force + spread * noise)
        return weights + 0.5 * step_size * momentum, momentum

    return step
