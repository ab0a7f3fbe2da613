"""First result: time from `MCMC(...)` to 1,000 draws at N = 10^6, and what memory it takes.

Compilation is included. Both sides are measured: with JAX's default, which compiles closed-over
data into programs, and with the remedy that the library names; the bars are the remedy's. A plain
run takes long and is repeated less often.
"""

import statistics
from functools import cache, partial
from typing import Any

from benchmarks.speed.child import answer
from benchmarks.speed.parts import Measured, Part
from benchmarks.speed.ratios import Bar
from benchmarks.speed.report import REMEDY, environment, run

ROUNDS = 3


@cache
def runs(kind: str, rounds: int) -> dict[str, list[dict[str, Any]]]:
    """Return every run's seconds and bytes, by side."""
    remedied = environment()
    plain = {name: value for name, value in remedied.items() if name not in REMEDY}
    found: dict[str, list[dict[str, Any]]] = {"plain": [], "remedy": []}
    for turn in range(rounds):
        if turn == 0:
            found["plain"].append(answer("first_result_run", kind, environment=plain))
        found["remedy"].append(answer("first_result_run", kind, environment=remedied))
    return found


def measured(kind: str, field: str, scale: float, unit: str, rounds: int) -> Measured:
    """Return the median with the remedy, the plain run's beside it."""
    found = runs(kind, rounds)
    values = {side: statistics.median(one[field] for one in ones) for side, ones in found.items()}
    shown = f"without the remedy {values['plain'] / scale:.3g} {unit}"
    return Measured(values["remedy"] / scale, shown, {"runs": found})


def parts_of(kind: str, title: str, limit: float, reason: str = "") -> tuple[Part, Part]:
    """Return a kernel's two bars."""
    seconds = partial(measured, kind, "seconds", 1.0, "s")
    memory = partial(measured, kind, "bytes", 1e6, "MB")
    return (
        Part(f"first 1,000 draws at N = 10⁶, {title}", Bar(limit, "s"), seconds, reason),
        Part(f"memory that these take beyond the data, {title}", Bar(400.0, "MB"), memory),
    )


PARTS = (
    *parts_of("explicit", "explicit step size", 3.0),
    *parts_of(
        "adapting", "adapting warm-up of 1,000", 10.0, "nearly all of it is compiling, on two cores"
    ),
)

if __name__ == "__main__":
    run("first_result", PARTS, rounds=ROUNDS)
