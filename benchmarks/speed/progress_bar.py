"""What a progress bar costs a single chain, `num_steps=20`: that of `sg.run`, and NumPyro's own."""

import contextlib
import os
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from numpyro.infer.mcmc import MCMCKernel

from benchmarks.speed.logistic import BATCH, DIMENSION, ROWS, model, simulate
from benchmarks.speed.loops import langevin
from benchmarks.speed.parts import Measured, Part
from benchmarks.speed.ratios import Bar, median_ratio, medians
from benchmarks.speed.report import run
from benchmarks.speed.sides import against, by_hand, microseconds, through_mcmc, through_run
from benchmarks.speed.timing import seconds_a_step
from numpyro_sgmcmc import SGLD

STEP_SIZE, NUM_STEPS = 0.1 / ROWS, 20
STEP = langevin(STEP_SIZE, BATCH)
FEWER, DRAWS, DRIVEN_DRAWS = 100, 2_000, 10_000


class Bared(NamedTuple):
    """State of the bare kernel."""

    z: jax.Array
    rng_key: jax.Array


class Bare(MCMCKernel):
    """The least that `MCMC` asks of a kernel, around one step of SGLD written by hand."""

    sample_field = "z"
    model = None
    num_steps = 1
    _sample_fn = True  # NumPyro's sign of a kernel that has been initialised

    def init(
        self,
        rng_key: jax.Array,
        num_warmup: int,
        init_params: Any,
        model_args: tuple,
        model_kwargs: dict,
    ) -> Bared:
        """Return the first state."""
        return Bared(jnp.zeros(DIMENSION), rng_key)

    def sample(self, state: Bared, model_args: tuple, model_kwargs: dict) -> Bared:
        """Return the next state."""
        key, subkey = jax.random.split(state.rng_key)
        return Bared(STEP(subkey, state.z, *model_args), key)


def overhead(rounds: int) -> Measured:
    """Return the run with the bar, which is written to nowhere, over that without.

    A bare kernel of one step by hand shows what the bar takes of any kernel, and so the least ratio
    there is.
    """
    data = simulate()
    ours = SGLD(model, STEP_SIZE, num_steps=NUM_STEPS)
    runs = {
        "bar": through_mcmc(ours, data, FEWER, DRAWS, progress_bar=True),
        "none": through_mcmc(ours, data, FEWER, DRAWS),
        "bare bar": through_mcmc(Bare(), data, FEWER, DRAWS, progress_bar=True),
    }
    sides = {name: side._replace(steps=DRAWS) for name, side in runs.items()}
    sides["by hand"] = by_hand(STEP, data)
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        found = seconds_a_step(sides, rounds)
    us = microseconds(medians(found))
    least = 1 + (us["bare bar"] - us["by hand"]) / us["none"]
    shown = against(us["bar"], us["none"], "µs a draw")
    shown += "; a bare kernel of one hand-written step "
    shown += against(us["bare bar"], us["by hand"], f"in a loop: {least:.2f} x at least")
    ratio = median_ratio(found["bar"], found["none"])
    return Measured(ratio, shown, {"us_a_draw": us, "least": least})


def driven_bar(num_steps: int, rounds: int) -> Measured:
    """Return a draw of `sg.run` with its bar over one of `mcmc.run` without."""
    data = simulate()
    kernel = SGLD(model, STEP_SIZE, num_steps=num_steps)
    draws = DRIVEN_DRAWS * NUM_STEPS // num_steps
    sides = {
        "run": through_run(kernel, data, FEWER, draws),
        "mcmc": through_mcmc(kernel, data, FEWER, draws)._replace(steps=draws),
    }
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        found = seconds_a_step(sides, rounds)
    us = microseconds(medians(found))
    shown = against(us["run"], us["mcmc"], "µs a draw")
    return Measured(median_ratio(found["run"], found["mcmc"]), shown, {"us_a_draw": us})


PARTS = (
    Part(
        f"`sg.run` with its bar over `mcmc.run` without one, `num_steps={NUM_STEPS}`",
        Bar(1.05),
        partial(driven_bar, NUM_STEPS),
    ),
    Part(
        f"`mcmc.run` with its own bar over that without, `num_steps={NUM_STEPS}`",
        Bar(1.25),
        overhead,
        "NumPyro's bar makes each draw a call of a compiled program from Python",
    ),
)

if __name__ == "__main__":
    run("progress_bar", PARTS)
