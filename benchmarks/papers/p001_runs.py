"""The runs behind figures 3 and 4 of Chen et al. (2016): positions of servers with a network."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.papers import p001_network as network
from benchmarks.papers.p001_clock import asynchronous
from benchmarks.papers.p001_server import Settings, serve
from numpyro_sgmcmc import SGHMC, StaleGradient

BATCH, RATE, MOMENTUM = 64, 0.01, 0.9
"""Caffe's defaults for LeNet: the minibatch, h^2 N and 1 - D h."""
EVERY = 50
"""Transitions from one draw to the next."""
SETTLED = 500
"""Transitions of one worker to the point where the remedies' curvature is measured."""


def settings(rate: float = RATE) -> Settings:
    """Return minibatch, step size and friction."""
    h = float(np.sqrt(rate / network.TRAIN))
    return Settings(BATCH, h, (1 - MOMENTUM) / h)


def by_kernel(
    workers: np.ndarray, count: int, rate: float, remedy: str | None = None, seed: int = 1
) -> np.ndarray:
    """Return positions of one server with so many workers each after every `EVERY` transitions.

    All run in one compiled program: ages are inputs.

    Args:
        workers: of each server, (chains,). A remedy takes the mean age of the first one's.
        count: of transitions.
        rate: h^2 N.
        remedy: as in `StaleGradient`.
        seed: of all random numbers.
    """
    clocks = {int(w): asynchronous(int(w), count).ages for w in set(workers.tolist())}
    ages = np.stack([clocks[int(w)] for w in workers])
    first, current = jnp.asarray(ages[0], jnp.int32), []

    def age(step: Any) -> Any:
        return current[-1] + 0 * step if current else first[step % count]

    given: Any = {} if remedy is None else {"remedy": remedy, "curvature": curvature()}
    batch, h, friction = settings(rate)
    kernel = StaleGradient(
        SGHMC(partial(network.model, batch=batch), h, friction=friction),
        age,
        max_staleness=int(ages.max()),
        **given,
    )
    data = tuple(each[: network.TRAIN] for each in network.images())
    keys = jax.random.split(jax.random.key(seed), len(workers))
    state = kernel.init(keys, 0, {"theta": starts(len(workers))}, data, {})

    def one(state: Any, age: jax.Array) -> Any:
        current.append(age)
        state = kernel.sample(state, data, {})
        current.pop()
        return state

    def block(state: Any, ages: jax.Array) -> tuple[Any, jax.Array]:
        state, _ = jax.lax.scan(lambda s, a: (jax.vmap(one)(s, a), None), state, ages)
        return state, state.z["theta"]

    blocks = jnp.asarray(ages.T.reshape(-1, EVERY, len(workers)), jnp.int32)
    _, found = jax.jit(lambda state: jax.lax.scan(block, state, blocks))(state)
    return np.moveaxis(np.asarray(found), 0, 1)


def by_hand(workers: np.ndarray, count: int, rate: float) -> np.ndarray:
    """Return the same from servers that are written by hand, with the same starts."""
    clocks = {int(w): asynchronous(int(w), count).workers for w in set(workers.tolist())}
    order = np.stack([clocks[int(w)] for w in workers])
    return serve(order, starts(len(workers)), settings(rate), EVERY, seed=2)


def starts(chains: int) -> np.ndarray:
    """Return first positions of so many servers."""
    return np.stack([network.start(np.random.default_rng(chain)) for chain in range(chains)])


def curvature() -> np.ndarray:
    """Return the diagonal of the Fisher information of the training images and the prior, (d,).

    It is taken after a short run of one worker, with the model's own chances of each class.
    """
    theta = jnp.asarray(by_kernel(np.array([1]), SETTLED, RATE, seed=3)[0, -1])
    x = network.images()[0][: network.TRAIN]

    def of_image(image: jax.Array) -> jax.Array:
        def chances(theta: jax.Array) -> jax.Array:
            return jax.nn.log_softmax(network.logits(theta, image[None]))[0]

        return jnp.exp(chances(theta)) @ jax.jacrev(chances)(theta) ** 2

    found = jax.jit(lambda x: jnp.sum(jax.lax.map(of_image, x), axis=0))(x)
    return np.asarray(1 + found, np.float64)


def log_chances(positions: np.ndarray) -> np.ndarray:
    """Return the log chance of each test image's class, (chains, K, n)."""
    flat = jnp.asarray(positions.reshape(-1, positions.shape[-1]))
    found = np.asarray(network.log_chances(flat), np.float64)
    return found.reshape(*positions.shape[:2], -1)
