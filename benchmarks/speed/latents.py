"""Latents of rows: the cost of a step from 10^4 to 10^7 rows, and memory with 10^6 of them.

A chain with one latent and d = 2 shared parameters keeps 8 numbers of each row: the latent, its
scale, d gradients, the place of its last claim, the number of visits, and two moments. Memory is
that of one run with four chains: two runs differed by 8 %.
"""

from benchmarks.speed.child import answer
from benchmarks.speed.latent_steps import BATCH, NUMBERS, by_hand, steps_of
from benchmarks.speed.parts import Measured, Part
from benchmarks.speed.ratios import Bar, median_ratio, medians
from benchmarks.speed.report import environment, run
from benchmarks.speed.sides import against, microseconds
from benchmarks.speed.timing import seconds_a_step

SIZES = {"small": 10_000, "middle": 1_000_000, "large": 10_000_000}


def growth(rounds: int) -> Measured:
    """Return the large side over the small one, also by hand."""
    sides = {name: steps_of(rows) for name, rows in SIZES.items()}
    sides |= {f"{name} by hand": by_hand(rows) for name, rows in SIZES.items()}
    found = seconds_a_step(sides, rounds)
    us = microseconds(medians(found))
    by_a_user = median_ratio(found["large by hand"], found["small by hand"])
    shown = against(us["large"], us["small"]) + f", {us['middle']:.3g} µs at 10⁶"
    shown += f"; reading and writing the {NUMBERS} numbers of as many rows by hand "
    shown += f"{against(us['large by hand'], us['small by hand'])}, {by_a_user:.2f} x"
    details = {"us_a_step": us, "rows": SIZES, "growth_by_hand": by_a_user}
    return Measured(median_ratio(found["large"], found["small"]), shown, details)


def memory(rounds: int) -> Measured:
    """Return the megabytes that a run takes beyond its data and its chains' latents, once."""
    found = answer("latents_run", environment=environment(), limit=600.0)
    beyond = (found["bytes"] - found["latents"]) / 1e6
    shown = f"{found['bytes'] / 1e6:,.0f} MB, of which {found['latents'] / 1e6:,.0f} MB are latents"
    shown += f" and {(found['arrays'] - found['latents']) / 1e6:,.0f} MB other arrays"
    return Measured(beyond, shown, found)


PARTS = (
    Part(
        f"step with latents at N = 10⁷ over N = 10⁴, {BATCH:,} rows at random",
        Bar(1.2),
        growth,
        "rows at random come from memory, where those of 10⁴ stay in the cache",
    ),
    Part(
        "memory of 10⁶ latents in 4 chains, beyond data and latents",
        Bar(200.0, "MB"),
        memory,
        "walkers of the warm-up are kept for further runs; the rest are compiled programs, and"
        " memory that was freed and not given back to the system",
    ),
)

if __name__ == "__main__":
    run("latents", PARTS, rounds=5)
