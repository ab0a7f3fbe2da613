"""Algorithms 1 and 2 of Chen et al. (2016) written by hand: a server and its workers' positions.

It knows no ages. Each worker holds the position that it was sent, and the simulated clock says
whose gradient comes next. `StaleGradient` with the clock's ages must have the same distribution.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.papers import p001_network as network


class Settings(NamedTuple):
    """The minibatch B, the step size h, and the friction D."""

    batch: int
    step_size: float
    friction: float


def serve(
    order: np.ndarray, starts: np.ndarray, settings: Settings, every: int, seed: int
) -> np.ndarray:
    """Return each server's positions after every so many transitions, (chains, K, d).

    Args:
        order: the worker whose gradient a transition takes, (chains, count).
        starts: first positions, (chains, d).
        settings: those of SGHMC.
        every: transitions from one position that is returned to the next.
        seed: of all random numbers.
    """
    workers = int(order.max()) + 1
    keys = jax.random.split(jax.random.key(seed), len(starts))

    def chain(key: jax.Array, start: jax.Array, order: jax.Array) -> jax.Array:
        key, first = jax.random.split(key)
        momentum = jax.random.normal(first, start.shape)
        state = (start, momentum, jnp.tile(start, (workers, 1)), key)

        def block(state: tuple, some: jax.Array) -> tuple[tuple, jax.Array]:
            state, _ = jax.lax.scan(lambda s, w: (_step(settings, s, w), None), state, some)
            return state, state[0]

        return jax.lax.scan(block, state, order.reshape(-1, every))[1]

    run = jax.jit(jax.vmap(chain))
    return np.asarray(run(keys, jnp.asarray(starts), jnp.asarray(order, jnp.int32)))


def _step(settings: Settings, state: tuple, worker: Any) -> tuple:
    batch, h, friction = settings
    theta, momentum, held, key = state
    key, for_rows, for_noise = jax.random.split(key, 3)
    x, y = (each[: network.TRAIN] for each in network.images())
    rows = jax.random.randint(for_rows, (batch,), 0, network.TRAIN)
    gradient = jax.grad(network.energy)(held[worker], x[rows], y[rows], batch / network.TRAIN)
    noise = jnp.sqrt(2 * friction * h) * jax.random.normal(for_noise, theta.shape)
    momentum = (1 - friction * h) * momentum - h * gradient + noise
    theta = theta + h * momentum
    return theta, momentum, held.at[worker].set(theta), key
