"""Latents of rows: the cost of a step from 10^4 to 10^7 rows, and memory with 10^6 of them.

A chain with one latent and d = 2 shared parameters keeps 7 numbers of each row: the latent, its
scale, d gradients, the number of visits, and two moments. Memory is that of one run with four
chains: two runs differed by 8 %.
"""

from functools import partial

from benchmarks.speed.child import answer
from benchmarks.speed.latent_steps import BATCH, NUMBERS, by_hand, rows_by_hand, steps_of
from benchmarks.speed.parts import Measured, Part
from benchmarks.speed.ratios import Bar, median_ratio, medians
from benchmarks.speed.report import environment, run
from benchmarks.speed.sides import against, microseconds
from benchmarks.speed.timing import seconds_a_step
from numpyro_sgmcmc import ContiguousMinibatch

SIZES = {"small": 10_000, "middle": 1_000_000, "large": 10_000_000}
FEW_ROWS, ROWS, ROWS_OF_NUTS = 10_000, 1_000_000, 1_000
"""Rows of the runs whose memory is measured: of one that shows what programs take, and others.
NUTS shows what those of a much smaller run take."""


def growth(rounds: int) -> Measured:
    """Return the large side over the small one, also by hand."""
    sides = {name: steps_of(rows) for name, rows in SIZES.items()}
    sides |= {f"{name} by hand": rows_by_hand(rows) for name, rows in SIZES.items()}
    sides |= {f"{name} of arrays by hand": by_hand(rows) for name, rows in SIZES.items()}
    found = seconds_a_step(sides, rounds)
    us = microseconds(medians(found))
    by_a_user = median_ratio(found["large by hand"], found["small by hand"])
    shown = against(us["large"], us["small"]) + f", {us['middle']:.3g} µs at 10⁶"
    shown += f"; reading and writing the {NUMBERS} numbers of as many rows by hand "
    shown += f"{against(us['large by hand'], us['small by hand'])}, {by_a_user:.2f} x; in {NUMBERS}"
    each = "large of arrays by hand", "small of arrays by hand"
    in_arrays = median_ratio(*(found[name] for name in each))
    shown += f" arrays {against(*(us[name] for name in each))}, {in_arrays:.2f} x"
    details = {"us_a_step": us, "rows": SIZES, "growth_by_hand": by_a_user}
    return Measured(median_ratio(found["large"], found["small"]), shown, details)


def contiguous(rounds: int) -> Measured:
    """Return the large side over the small one, with blocks of rows."""
    sizes = {name: SIZES[name] for name in ("small", "large")}
    sides = {name: steps_of(rows, ContiguousMinibatch()) for name, rows in sizes.items()}
    sides |= {f"{name} by hand": rows_by_hand(rows, True) for name, rows in sizes.items()}
    found = seconds_a_step(sides, rounds)
    us = microseconds(medians(found))
    by_a_user = median_ratio(found["large by hand"], found["small by hand"])
    shown = against(us["large"], us["small"])
    shown += f"; slices of as many rows by hand {against(us['large by hand'], us['small by hand'])}"
    details = {"us_a_step": us, "rows": sizes, "growth_by_hand": by_a_user}
    return Measured(
        median_ratio(found["large"], found["small"]), f"{shown}, {by_a_user:.2f} x", details
    )


def memory(driver: str, rounds: int) -> Measured:
    """Return the megabytes that a run takes beyond its data and its chains' latents, once."""
    few, found, nuts = (
        answer("latents_run", name, str(rows), environment=environment(), limit=300.0)
        for name, rows in ((driver, FEW_ROWS), (driver, ROWS), ("nuts", ROWS_OF_NUTS))
    )
    beyond, of_few = ((one["bytes"] - one["latents"]) / 1e6 for one in (found, few))
    shown = f"{found['bytes'] / 1e6:,.0f} MB, of which {found['latents'] / 1e6:,.0f} MB are latents"
    shown += f" and {(found['arrays'] - found['latents']) / 1e6:,.0f} MB other arrays"
    shown += f"; with 10⁴ rows {of_few:,.0f} MB beyond them"
    shown += f"; NUTS takes {nuts['bytes'] / 1e6:,.0f} MB with {ROWS_OF_NUTS:,} rows"
    others = {"beyond_with_few_rows": of_few * 1e6, "of_nuts_with_1000_rows": nuts["bytes"]}
    return Measured(beyond, shown, found | others)


FREED = "programs and their compilation take most; memory that was freed is not all given back"

PARTS = (
    Part(
        f"step with latents at N = 10⁷ over N = 10⁴, {BATCH:,} rows at random",
        Bar(1.2),
        growth,
        "rows at random come from memory, where those of 10⁴ stay in the cache",
    ),
    Part(
        "the same with contiguous blocks of rows",
        Bar(1.2),
        contiguous,
        "a block comes from memory, where 10⁴ rows stay in the cache",
    ),
    Part(
        "memory of 10⁶ latents in 4 chains, beyond data and latents, `mcmc.run`",
        Bar(200.0, "MB"),
        partial(memory, "mcmc"),
        f"{FREED}; NumPyro keeps the first states while chains run",
    ),
    Part(
        "the same with `sg.run`, which keeps no second copy of the states",
        Bar(200.0, "MB"),
        partial(memory, "sg"),
        FREED,
    ),
)

if __name__ == "__main__":
    run("latents", PARTS, rounds=5)
