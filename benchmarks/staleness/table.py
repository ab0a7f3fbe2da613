"""The table of the gains, in Markdown."""

from collections.abc import Callable
from functools import partial

from benchmarks.staleness.gains import VARYING, asynchronous, independent, synchronous

WORKERS = (2, 4, 8)
WAYS: dict[str, Callable[[int, float], float]] = {
    "asynchronous, no remedy": asynchronous,
    'asynchronous, `remedy="friction"`': partial(asynchronous, remedy="friction"),
    'asynchronous, `remedy="curvature"`': partial(asynchronous, remedy="curvature"),
    "synchronous mean of the gradients": synchronous,
    "independent chains, no warm-up": independent,
    "independent chains, warm-up as long as one worker's draws": partial(independent, warmup=1.0),
}


def gains(name: str) -> list[float]:
    """Return a row: equal times of the gradients first, then times that vary."""
    return [WAYS[name](workers, varying) for varying in (0.0, VARYING) for workers in WORKERS]


def table() -> str:
    """Return all rows, with a heading."""
    titles = [f"{workers}, {kind}" for kind in ("equal", "varying") for workers in WORKERS]
    lines = [["workers, times of the gradients", *titles], ["---"] * (1 + len(titles))]
    lines += [[name, *(f"{gain:.1f}" for gain in gains(name))] for name in WAYS]
    return "".join(f"| {' | '.join(entries)} |\n" for entries in lines)
