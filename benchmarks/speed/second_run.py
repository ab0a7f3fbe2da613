"""A second `run` on other data of the same shape with `jit_model_args=True`: what it compiles."""

import contextlib
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
from numpyro.infer import MCMC, NUTS

from benchmarks.speed.logistic import Data, model, simulate, whole_model
from benchmarks.speed.parts import Measured, Part
from benchmarks.speed.ratios import Bar
from benchmarks.speed.report import run
from benchmarks.speed.timing import compilations
from numpyro_sgmcmc import SGLD, SGHMCSplit

ROWS, COLUMNS = 10_000, 10


def other(data: Data) -> Data:
    """Return data of the same shape and other values."""
    return jax.block_until_ready((data[0][::-1] * 1.5, data[1][::-1]))


def again(kernel: Any, bar: bool, warmup: int) -> int:
    """Return how many programs the second run compiles."""
    data = simulate(ROWS, COLUMNS)
    second = other(data)
    mcmc = MCMC(kernel, num_warmup=warmup, num_samples=100, progress_bar=bar, jit_model_args=True)
    keys = jax.block_until_ready([jax.random.key(0), jax.random.key(1)])

    def fit(key: jax.Array, arguments: Data) -> Any:
        mcmc.run(key, *arguments)
        return mcmc.get_samples(), mcmc.last_state

    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        compilations(lambda: fit(keys[0], data))
        return compilations(lambda: fit(keys[1], second))


def counted(kernel: Callable[[], Any], bar: bool, warmup: int, rounds: int) -> Measured:
    """Return what ours compiles, NUTS's beside it; a count needs no rounds."""
    del rounds
    ours = again(kernel(), bar, warmup)
    nuts = again(NUTS(whole_model), bar, 100)
    return Measured(ours, f"NUTS {nuts}", {"ours": ours, "nuts": nuts})


OWN_LOOP = "NumPyro compiles its collecting loop at each run without a bar, NUTS's too"

PARTS = tuple(
    Part(
        f"programs that a second run of `{name}` compiles, progress bar {'on' if bar else 'off'}",
        Bar(0.0, "programs"),
        partial(counted, kernel, bar, warmup),
        "" if bar else OWN_LOOP,
    )
    for name, kernel, warmup in (
        ("SGLD(model, h)", partial(SGLD, model, 0.1 / ROWS), 0),
        ("SGHMCSplit(model)", partial(SGHMCSplit, model), 500),
    )
    for bar in (True, False)
)

if __name__ == "__main__":
    run("second_run", PARTS, rounds=1)
