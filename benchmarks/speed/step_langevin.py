"""One step of `MCMC(SGLD(model, step_size=h))` against a hand-written loop."""

from functools import cache

from benchmarks.speed.logistic import BATCH, ROWS, model, simulate
from benchmarks.speed.loops import block_of, langevin
from benchmarks.speed.parts import Measured, Part
from benchmarks.speed.ratios import Bar, median_ratio, medians
from benchmarks.speed.report import run
from benchmarks.speed.sides import against, by_hand, microseconds, through_mcmc
from benchmarks.speed.timing import seconds_a_step
from numpyro_sgmcmc import SGLD, ContiguousMinibatch

STEP_SIZE = 0.1 / ROWS


@cache
def costs(rounds: int) -> dict[str, list[float]]:
    """Return the seconds of a step of all sides, measured together."""
    data = simulate()
    sides = {
        "uniform": through_mcmc(SGLD(model, STEP_SIZE), data),
        "by hand": by_hand(langevin(STEP_SIZE, BATCH), data),
        "contiguous": through_mcmc(SGLD(model, STEP_SIZE, minibatch=ContiguousMinibatch()), data),
        "slices by hand": by_hand(langevin(STEP_SIZE, BATCH, block_of), data),
    }
    return seconds_a_step(sides, rounds)


def uniform(rounds: int) -> Measured:
    """Return ours over the loop."""
    found = costs(rounds)
    us = microseconds(medians(found))
    shown = against(us["uniform"], us["by hand"])
    return Measured(median_ratio(found["uniform"], found["by hand"]), shown, {"us_a_step": us})


def contiguous(rounds: int) -> Measured:
    """Return ours over the loop with its gather, and what a loop of slices is over that."""
    found = costs(rounds)
    us = microseconds(medians(found))
    by_a_user = median_ratio(found["slices by hand"], found["by hand"])
    shown = against(us["contiguous"], us["by hand"])
    shown += f"; a hand-written loop of slices {us['slices by hand']:.3g} µs, {by_a_user:.2f} x"
    details = {"us_a_step": us, "slices_by_hand": by_a_user}
    return Measured(median_ratio(found["contiguous"], found["by hand"]), shown, details)


PARTS = (
    Part("step of `SGLD`, N = 10⁶, over a hand-written scan", Bar(1.05), uniform),
    Part(
        "the same with contiguous blocks, over the same scan with its gather",
        Bar(0.5),
        contiguous,
        "NumPyro's collecting of draws takes 2.5 µs; what is left is less than half",
    ),
)

if __name__ == "__main__":
    run("step_langevin", PARTS, rounds=5)
