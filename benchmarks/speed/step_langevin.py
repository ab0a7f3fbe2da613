"""One step of `MCMC(SGLD(model, step_size=h))` against a hand-written loop."""

from functools import cache, partial

from benchmarks.speed.logistic import BATCH, ROWS, model, simulate
from benchmarks.speed.loops import langevin
from benchmarks.speed.parts import Measured, Part
from benchmarks.speed.ratios import Bar, median_ratio, medians
from benchmarks.speed.report import run
from benchmarks.speed.sides import against, by_hand, microseconds, through_mcmc
from benchmarks.speed.timing import seconds_a_step
from numpyro_sgmcmc import SGLD, ContiguousMinibatch

STEP_SIZE = 0.1 / ROWS


@cache
def costs(rounds: int) -> dict[str, list[float]]:
    """Return the seconds of a step of the three sides, measured together."""
    data = simulate()
    sides = {
        "uniform": through_mcmc(SGLD(model, STEP_SIZE), data),
        "by hand": by_hand(langevin(STEP_SIZE, BATCH), data),
        "contiguous": through_mcmc(SGLD(model, STEP_SIZE, minibatch=ContiguousMinibatch()), data),
    }
    return seconds_a_step(sides, rounds)


def compared(side: str, rounds: int) -> Measured:
    """Return one of our sides over the loop."""
    found = costs(rounds)
    us = microseconds(medians(found))
    ratio = median_ratio(found[side], found["by hand"])
    return Measured(ratio, against(us[side], us["by hand"]), {"us_a_step": us})


PARTS = (
    Part(
        "step of `SGLD`, N = 10⁶, over a hand-written scan", Bar(1.05), partial(compared, "uniform")
    ),
    Part(
        "the same with contiguous blocks, over the same scan with its gather",
        Bar(0.5),
        partial(compared, "contiguous"),
        "NumPyro's collecting of draws takes 2.5 µs, the step itself half of the loop's time",
    ),
)

if __name__ == "__main__":
    run("step_langevin", PARTS, rounds=5)
