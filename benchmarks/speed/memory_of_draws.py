"""Memory of a run that keeps K draws of P parameters, over what these take: K P 4 bytes.

Growth of the peak against a run of few draws, each in a fresh process. Once:
rounds differed by 2 %.
"""

import statistics
from functools import partial
from typing import Any

from benchmarks.speed.child import answer
from benchmarks.speed.kept_draws_run import PARAMETERS
from benchmarks.speed.parts import Measured, Part
from benchmarks.speed.ratios import Bar
from benchmarks.speed.report import environment, run

FEW, MANY = 10, 1_010
KEPT = (MANY - FEW) * PARAMETERS * 4


def growth(bar: str, rounds: int) -> Measured:
    """Return the growth over the bytes that are kept."""
    found: list[dict[str, Any]] = []
    for _ in range(rounds):
        few, many = (
            answer("kept_draws_run", str(draws), bar, environment=environment())
            for draws in (FEW, MANY)
        )
        found.append({name: (many[name] - few[name]) / KEPT for name in many})
    ratios = {name: statistics.median(one[name] for one in found) for name in found[0]}
    shown = f"{ratios['peak'] * KEPT / 1e6:,.0f} MB for {KEPT / 1e6:,.0f} MB of draws"
    shown += f"; {ratios['run']:.2f} x before they are taken"
    return Measured(ratios["peak"], shown, {"kept_bytes": KEPT, "rounds": found})


PARTS = tuple(
    Part(
        f"memory of {MANY - FEW:,} draws of {PARAMETERS:,} parameters, {words}",
        Bar(1.1),
        partial(growth, bar),
        "NumPyro keeps all draws twice, by chain and flat, whatever the kernel",
    )
    for bar, words in (("bar", "with the progress bar"), ("none", "without it"))
)

if __name__ == "__main__":
    run("memory_of_draws", PARTS, rounds=1)
