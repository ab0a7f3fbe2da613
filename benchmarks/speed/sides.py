"""Sides of the step figures: through `MCMC`, and through a loop written by hand."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from numpyro.infer import MCMC

from benchmarks.speed.logistic import Data
from benchmarks.speed.loops import Step, loop
from benchmarks.speed.timing import Run, Side
from numpyro_sgmcmc import run as driven

STEPS = 40_000
FEWER = 4_000
"""Steps of a long run beyond a short one, and of a short one."""


def through_mcmc(
    kernel: Any, data: Data, short: int = FEWER, more: int = STEPS, **options: Any
) -> Side:
    """Return runs of MCMC; a step is a draw times the kernel's `num_steps`."""

    def run_of(samples: int) -> Run:
        chosen = {"num_warmup": 0, "progress_bar": False, **options}
        mcmc = MCMC(kernel, num_samples=samples, **chosen)
        mcmc.warmup(jax.random.key(1), *data)

        def run() -> Any:
            mcmc.run(jax.random.key(2), *data)
            return mcmc.last_state, mcmc.get_samples()

        return run

    return Side(run_of(short), run_of(short + more), more * kernel.num_steps)


def through_run(kernel: Any, data: Data, short: int, more: int) -> Side:
    """Return runs of `sg.run` with its bar."""

    def run_of(samples: int) -> Run:
        mcmc = MCMC(kernel, num_warmup=0, num_samples=samples, progress_bar=False)
        mcmc.warmup(jax.random.key(1), *data)

        def once() -> Any:
            driven(mcmc, jax.random.key(2), *data, progress_bar=True)
            return mcmc.last_state, mcmc.get_samples()

        return once

    return Side(run_of(short), run_of(short + more), more)


def by_hand(
    step: Step,
    data: Data,
    start: Callable[[jax.Array], Any] = lambda weights: weights,
    short: int = FEWER,
    more: int = STEPS,
) -> Side:
    """Return runs of a hand-written loop."""

    def run_of(steps: int) -> Run:
        compiled = loop(step, start, steps)
        weights = jnp.zeros(data[0].shape[1])
        return lambda: compiled(jax.random.key(2), weights, *data)

    return Side(run_of(short), run_of(short + more), more)


def microseconds(costs: dict[str, float]) -> dict[str, float]:
    """Return costs of a step in microseconds."""
    return {name: 1e6 * cost for name, cost in costs.items()}


def against(ours: float, theirs: float, unit: str = "µs") -> str:
    """Return two costs in words."""
    return f"{ours:.3g} against {theirs:.3g} {unit}"
