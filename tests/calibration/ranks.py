"""Simulation-based calibration (Talts et al. 2018): ranks of true values among draws."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy.stats import chi2

from tests.calibration.problems import SETS, replicate

REPLICATIONS, DRAWS, BURN_IN = 240, 15, 3
FALSE_FAILURE = 1e-4


def ranks(build: Callable, model: Callable, seed: int = 0) -> np.ndarray:
    """Return the ranks 0 to 15 of each true coordinate, shape (replications, d).

    `build(model)` is a kernel whose iterations are long enough to make its draws nearly
    independent; three of them are burn-in.
    """

    def one(key):
        key_data, key_chain = jax.random.split(key)
        truth, y = replicate(model, key_data)
        kernel = build(model)
        state = kernel.init(key_chain, 0, None, (y,), {})

        def iterate(state, _):
            state = kernel.sample(state, (y,), {})
            return state, (ravel_pytree(state.z)[0], state.diverging)

        _, (draws, diverging) = jax.lax.scan(iterate, state, None, length=BURN_IN + DRAWS)
        below = draws[BURN_IN:] < ravel_pytree(truth)[0]
        return jnp.sum(below, axis=0), jnp.any(diverging)

    keys = jax.random.split(jax.random.key(seed), REPLICATIONS)
    found, diverging = jax.jit(jax.vmap(one))(keys)
    assert not diverging.any()
    return np.asarray(found)


def ranks_with_latents(kernel: Any, model: Callable, row: int) -> dict[str, np.ndarray]:
    """Return the ranks of true shared parameters, and of one row's latents, one a data set.

    The model has `SETS` data sets side by side, each with a shared parameter and a latent of each
    row. A preparation with latents of rows is not traced, so that runs follow one another.
    """
    found: dict[str, list] = {"shared": [], "latents": []}

    @jax.jit
    def run(state, y):
        def iterate(state, _):
            state = kernel.sample(state, (y,), {})
            own = ravel_pytree(state.z)[0], state.gradient.values[row], state.diverging
            return state, own

        return jax.lax.scan(iterate, state, None, length=BURN_IN + DRAWS)[1]

    for key in jax.random.split(jax.random.key(0), REPLICATIONS // SETS):
        key_data, key_chain = jax.random.split(key)
        truth, y = replicate(model, key_data)
        state = kernel.init(key_chain, 0, None, (y,), {})
        shared, latents, diverging = run(state, y)
        assert not diverging.any()
        found["shared"].append(jnp.sum(shared[BURN_IN:] < truth["mu"], axis=0))
        found["latents"].append(jnp.sum(latents[BURN_IN:] < truth["a"][row], axis=0))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def assert_uniform(found: np.ndarray) -> None:
    """Check ranks of one coordinate: a chi-squared test of 16 bins, false failures 1e-4."""
    counts = np.bincount(found, minlength=DRAWS + 1)
    expected = len(found) / (DRAWS + 1)
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < chi2.isf(FALSE_FAILURE, DRAWS), f"ranks are not uniform: {counts}"
