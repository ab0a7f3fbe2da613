"""Steps of the logistic regression of figure 1 on a GPU: by hand, through `MCMC`, by `sg.run`."""

import contextlib
import os
from typing import Any

import jax.numpy as jnp

from benchmarks.speed.logistic import BATCH, ROWS, model, simulate
from benchmarks.speed.loops import langevin, splitting
from benchmarks.speed.ratios import median_ratio, medians
from benchmarks.speed.sides import by_hand, through_mcmc, through_run
from benchmarks.speed.timing import seconds_a_step
from numpyro_sgmcmc import SGLD, SGHMCSplit

STEP_SIZE, LEAP, FRICTION = 0.1 / ROWS, 1e-4, 1_000.0
SHORT, MORE, INNER = 1_000, 20_000, 20


def measured(rounds: int) -> list[dict[str, Any]]:
    """Return microseconds of a step, and the ratio to the loop by hand."""
    data = simulate()
    few = SHORT // INNER, MORE // INNER
    start = lambda weights: (weights, jnp.zeros_like(weights))  # noqa: E731
    sides = {
        "SGLD by hand": by_hand(langevin(STEP_SIZE, BATCH), data, short=SHORT, more=MORE),
        "SGHMC by hand": by_hand(splitting(LEAP, BATCH, FRICTION), data, start, SHORT, MORE),
    }
    langevin_kernel = lambda n: SGLD(model, STEP_SIZE, num_steps=n)  # noqa: E731
    hamiltonian = lambda n: SGHMCSplit(model, LEAP, friction=FRICTION, num_steps=n)  # noqa: E731
    for name, kernel in (("SGLD", langevin_kernel), ("SGHMC", hamiltonian)):
        sides[f"{name}, `MCMC`, a draw each step"] = through_mcmc(kernel(1), data, SHORT, MORE)
        sides[f"{name}, `MCMC`, a draw in {INNER}"] = through_mcmc(kernel(INNER), data, *few)
    sides["SGLD, `sg.run`, a draw each step"] = through_run(langevin_kernel(1), data, SHORT, MORE)
    driven = through_run(langevin_kernel(INNER), data, *few)
    sides[f"SGLD, `sg.run`, a draw in {INNER}"] = driven._replace(steps=MORE)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        costs = seconds_a_step(sides, rounds)
    us = {name: 1e6 * cost for name, cost in medians(costs).items()}
    return [
        {
            "side": name,
            "us": us[name],
            "ratio": median_ratio(costs[name], costs[f"{_kernel(name)} by hand"]),
        }
        for name in sides
    ]


def _kernel(side: str) -> str:
    return side.partition(",")[0].partition(" ")[0]
