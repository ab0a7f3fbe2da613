"""SGHMC on LeNet written by hand, from which the kernel's losses must not differ."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.papers import p001_lenet as lenet
from benchmarks.papers.common import mean_and_error
from benchmarks.papers.p001_lenet_runs import BATCH, MOMENTUM, Setting, sampler, trained

CHECKED = Setting(0.01)
SCORED = 500


def by_hand(data: lenet.Labelled, steps: int, chains: int, seed: int) -> np.ndarray:
    """Return flat weights of chains after so many steps, (chains, d)."""
    images = len(data.x)
    h = np.sqrt(CHECKED.rate / images)
    spread = np.sqrt(2 * (1 - MOMENTUM) * CHECKED.temperature)

    def step(state: tuple, _: None) -> tuple[tuple, None]:
        theta, momentum, key = state
        key, for_rows, for_noise = jax.random.split(key, 3)
        rows = jax.random.randint(for_rows, (BATCH,), 0, images)
        slope = jax.grad(lenet.energy)(theta, data.x[rows], data.y[rows], BATCH / images)
        noise = spread * jax.random.normal(for_noise, theta.shape)
        momentum = MOMENTUM * momentum - h * slope + noise
        return (theta + h * momentum, momentum, key), None

    @jax.jit
    def run(theta: jax.Array, key: jax.Array) -> jax.Array:
        key, first = jax.random.split(key)
        state = (theta, jax.random.normal(first, theta.shape), key)
        return jax.lax.scan(step, state, length=steps)[0][0]

    keys = jax.random.split(jax.random.key(seed), chains)
    starts = (lenet.start(chain) for chain in range(chains))
    return np.stack([run(*each) for each in zip(starts, keys, strict=True)])


def compared(sets: lenet.Sets, steps: int, chains: int) -> dict[str, float]:
    """Return mean losses of draws on test images by the kernel and by hand, and their error."""

    def losses(weights: np.ndarray) -> tuple[Any, Any]:
        some = lenet.Labelled(*(part[:SCORED] for part in sets.test))
        own = np.asarray(lenet.chances(jnp.asarray(weights), some.x))
        seen = np.take_along_axis(own, np.asarray(some.y)[None, :, None], -1)[..., 0]
        return mean_and_error(-np.log(seen).mean(-1))

    def make(total: int) -> Any:
        return sampler("SGHMC", CHECKED, sets.training, total, 0, chains)

    measured, error = losses(trained(make, steps, 1).weights[-1])
    exact, own = losses(by_hand(sets.training, steps, chains, 1))
    found = {"measured": measured, "exact": exact, "check_error": np.hypot(error, own)}
    return {name: float(value) for name, value in found.items()}
