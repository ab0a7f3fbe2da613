"""Cost of a step at N = 10^7 over that at N = 10^4, contiguous blocks."""

from benchmarks.speed.logistic import DIMENSION, model, simulate
from benchmarks.speed.parts import Measured, Part
from benchmarks.speed.ratios import Bar, median_ratio, medians
from benchmarks.speed.report import run
from benchmarks.speed.sides import against, microseconds, through_mcmc
from benchmarks.speed.timing import seconds_a_step
from numpyro_sgmcmc import SGLD, ContiguousMinibatch

SMALL, LARGE = 10_000, 10_000_000


def growth(rounds: int) -> Measured:
    """Return the large side over the small one."""
    sides = {
        str(rows): through_mcmc(
            SGLD(model, 0.1 / rows, minibatch=ContiguousMinibatch()), simulate(rows)
        )
        for rows in (LARGE, SMALL)
    }
    found = seconds_a_step(sides, rounds)
    us = microseconds(medians(found))
    large, small = str(LARGE), str(SMALL)
    ratio = median_ratio(found[large], found[small])
    return Measured(ratio, against(us[large], us[small]), {"us_a_step": us, "d": DIMENSION})


PARTS = (
    Part(
        f"step at N = 10⁷ over N = 10⁴, contiguous, d = {DIMENSION}",
        Bar(1.2),
        growth,
        "a block of 22 kB comes from memory, where 10⁴ rows stay in the cache",
    ),
)

if __name__ == "__main__":
    run("step_growth", PARTS, rounds=5)
