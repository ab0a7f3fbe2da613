"""Cost of a step at N = 10^7 over that at N = 10^4, contiguous blocks."""

from benchmarks.speed.logistic import BATCH, DIMENSION, model, simulate
from benchmarks.speed.loops import block_of, langevin
from benchmarks.speed.parts import Measured, Part
from benchmarks.speed.ratios import Bar, median_ratio, medians
from benchmarks.speed.report import run
from benchmarks.speed.sides import against, by_hand, microseconds, through_mcmc
from benchmarks.speed.timing import Side, seconds_a_step
from numpyro_sgmcmc import SGLD, ContiguousMinibatch

SMALL, LARGE = 10_000, 10_000_000


def growth(rounds: int) -> Measured:
    """Return the large side over the small one, also by hand."""
    sides: dict[str, Side] = {}
    for size, rows in (("large", LARGE), ("small", SMALL)):
        data, h = simulate(rows), 0.1 / rows
        sides[size] = through_mcmc(SGLD(model, h, minibatch=ContiguousMinibatch()), data)
        sides[f"{size} by hand"] = by_hand(langevin(h, BATCH, block_of), data)
    found = seconds_a_step(sides, rounds)
    us = microseconds(medians(found))
    by_a_user = median_ratio(found["large by hand"], found["small by hand"])
    shown = against(us["large"], us["small"])
    shown += f"; a hand-written loop of slices {against(us['large by hand'], us['small by hand'])}"
    shown += f", {by_a_user:.2f} x"
    details = {"us_a_step": us, "d": DIMENSION, "growth_by_hand": by_a_user}
    return Measured(median_ratio(found["large"], found["small"]), shown, details)


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
