"""Seconds of a run without its compilation, and of one step.

A step costs what a long run takes more than a short one, over the steps that it has more: what a
run costs once (dispatch, a copy of the data) drops out. JAX reports how long it traces and
compiles; the union of those stretches of time is taken off.
"""

import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import jax

from benchmarks.speed.ratios import orders

COMPILING = "/jax/core/compile/"
BACKEND = "/jax/core/compile/backend_compile_duration"

Run = Callable[[], Any]


class Side(NamedTuple):
    """A short and a long run of the same thing; both wait for their results.

    Attributes:
        short: a run.
        long: a run of `steps` steps more.
        steps: how many.
    """

    short: Run
    long: Run
    steps: int


class Stretch(NamedTuple):
    """A stretch of time in which JAX traced or compiled."""

    event: str
    begin: float
    end: float


@cache
def stretches() -> list[Stretch]:
    """Return the list to which JAX's compilations are added from the first call on."""
    found: list[Stretch] = []

    def note(event: str, seconds: float, **_: object) -> None:
        if event.startswith(COMPILING):
            now = time.perf_counter()
            found.append(Stretch(event, now - seconds, now))

    jax.monitoring.register_event_duration_secs_listener(note)
    return found


def covered(parts: list[Stretch], begin: float, end: float) -> float:
    """Return how much of an interval the stretches cover together."""
    total, reached = 0.0, begin
    for part in sorted(parts, key=lambda stretch: stretch.begin):
        total += max(0.0, min(part.end, end) - max(part.begin, reached))
        reached = max(reached, part.end)
    return total


def seconds(run: Run) -> float:
    """Return the wall time of a run without its compilation."""
    found = stretches()
    found.clear()
    begin = time.perf_counter()
    jax.block_until_ready(run())
    end = time.perf_counter()
    return end - begin - covered(found, begin, end)


def compilations(run: Run) -> int:
    """Return how many programs a run compiles."""
    found = stretches()
    found.clear()
    jax.block_until_ready(run())
    return sum(stretch.event == BACKEND for stretch in found)


def seconds_a_step(sides: Mapping[str, Side], rounds: int) -> dict[str, list[float]]:
    """Return each side's cost of a step by round, the sides alternating, after a round to warm."""
    for side in sides.values():
        side.short()
        side.long()
    costs: dict[str, list[float]] = {name: [] for name in sides}
    for order in orders(list(sides), rounds):
        for name in order:
            side = sides[name]
            costs[name].append((seconds(side.long) - seconds(side.short)) / side.steps)
    return costs
