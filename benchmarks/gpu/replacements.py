"""What is written for CPUs (`numpyro_sgmcmc/cpu`), measured on a GPU beside plain JAX."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from unittest import mock

import jax
from numpyro.infer import MCMC

from benchmarks.gpu import network
from benchmarks.speed.logistic import ROWS, Data, model, simulate
from benchmarks.speed.ratios import median_ratio, medians
from benchmarks.speed.timing import Run, Side, seconds_a_step
from numpyro_sgmcmc import (
    SGLD,
    ContiguousMinibatch,
    ReshuffledMinibatch,
    SGHMCSplit,
)

FEWER, MORE, NETWORK_DRAWS = 100, 1_000, 40
CASES: dict[str, Callable[[], Any]] = {
    "`SGLD`, rows at random": lambda: SGLD(model, 0.1 / ROWS),
    "`SGLD`, contiguous rows": lambda: SGLD(model, 0.1 / ROWS, minibatch=ContiguousMinibatch()),
    "`SGLD`, rows by epochs": lambda: SGLD(model, 0.1 / ROWS, minibatch=ReshuffledMinibatch()),
    "`SGHMCSplit`, four chains": lambda: SGHMCSplit(model, 1e-4, friction=1_000.0),
}
"""Kernels on 10^6 rows and d = 54, B = 100."""


@contextmanager
def as_on_a_cpu() -> Iterator[None]:
    """Trace as on a CPU."""
    with mock.patch.object(jax, "default_backend", lambda: "cpu"):
        yield


def side(kernel: Any, data: Data, chains: int, is_for_cpu: bool) -> Side:
    """Return runs of a kernel, traced with the code for CPUs or without."""

    def run_of(draws: int) -> Run:
        mcmc = MCMC(
            kernel,
            num_warmup=0,
            num_samples=draws,
            num_chains=chains,
            chain_method="vectorized" if chains > 1 else "sequential",
            progress_bar=False,
        )

        def run() -> Any:
            with jax.default_matmul_precision("highest"):
                if not is_for_cpu:
                    mcmc.run(jax.random.key(2), *data)
                    return mcmc.last_state
                with as_on_a_cpu():
                    mcmc.run(jax.random.key(2), *data)
                    return mcmc.last_state

        return run

    return Side(run_of(FEWER), run_of(FEWER + MORE), MORE * kernel.num_steps)


def measured(rounds: int) -> list[dict[str, Any]]:
    """Return each case's microseconds of a step with and without the code for CPUs."""
    data, found = simulate(), []
    for name, make in CASES.items():
        chains = 4 if "four" in name else 1
        sides = {
            "plain": side(make(), data, chains, False),
            "for CPUs": side(make(), data, chains, True),
        }
        found.append(_row(name, seconds_a_step(sides, rounds)))
    with jax.default_matmul_precision("highest"):
        make = partial(network.ours, network.simulate(), "threefry2x32", "normal")
        sides = {"plain": network.side(make, "highest", NETWORK_DRAWS)}
        sides["for CPUs"] = _traced_for_cpu(make)
        found.append(_row("`SGLD`, network of 10⁶ parameters", seconds_a_step(sides, rounds)))
    return found


def _traced_for_cpu(make: Callable[[], tuple]) -> Side:
    with as_on_a_cpu():
        made = network.side(make, "highest", NETWORK_DRAWS)

    def wrapped(run: Run) -> Run:
        def once() -> Any:
            with as_on_a_cpu():
                return run()

        return once

    return Side(wrapped(made.short), wrapped(made.long), made.steps)


def _row(name: str, costs: dict[str, list[float]]) -> dict[str, Any]:
    us = {key: 1e6 * cost for key, cost in medians(costs).items()}
    return {"case": name, "us": us, "ratio": median_ratio(costs["for CPUs"], costs["plain"])}
