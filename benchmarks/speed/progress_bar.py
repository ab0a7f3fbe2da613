"""The default progress bar of a single chain, `num_steps=20`, over the run without it."""

import contextlib
import os

from benchmarks.speed.logistic import ROWS, model, simulate
from benchmarks.speed.parts import Measured, Part
from benchmarks.speed.ratios import Bar, median_ratio, medians
from benchmarks.speed.report import run
from benchmarks.speed.sides import against, microseconds, through_mcmc
from benchmarks.speed.timing import Side, seconds_a_step
from numpyro_sgmcmc import SGLD

NUM_STEPS = 20
FEWER, DRAWS = 100, 2_000


def overhead(rounds: int) -> Measured:
    """Return the run with the bar, which is written to nowhere, over that without."""
    data = simulate()

    def side(bar: bool) -> Side:
        kernel = SGLD(model, 0.1 / ROWS, num_steps=NUM_STEPS)
        runs = through_mcmc(kernel, data, FEWER, DRAWS, progress_bar=bar)
        return runs._replace(steps=DRAWS)

    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
        found = seconds_a_step({"bar": side(True), "none": side(False)}, rounds)
    us = microseconds(medians(found))
    ratio = median_ratio(found["bar"], found["none"])
    return Measured(ratio, against(us["bar"], us["none"], "µs a draw"), {"us_a_draw": us})


PARTS = (
    Part(
        f"run of `SGLD` with the default bar over that without, `num_steps={NUM_STEPS}`",
        Bar(1.25),
        overhead,
        "NumPyro's bar makes a call of a compiled program of each draw: about 0.15 ms",
    ),
)

if __name__ == "__main__":
    run("progress_bar", PARTS)
