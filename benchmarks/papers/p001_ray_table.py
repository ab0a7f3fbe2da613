"""The table of the runs with Ray: losses, their differences, ages, distances from the twin."""

from typing import NamedTuple

import numpy as np

from benchmarks.papers.common import Row
from benchmarks.papers.p001_ray_nets import Network, log_chances

ALONE, SYNCHRONOUS = "1 worker", "2 workers, synchronous"
STALE, CHAINS = "2 workers", "2 servers"
MEAN = f"{CHAINS}, mean loss"
LATE = 3
"""Draws at the end whose mean loss is compared."""


class Way(NamedTuple):
    """A way to use workers, and what it gave.

    Attributes:
        name: of the way.
        weights: (server, K, d).
        ages: of Ray's gradients, (server, transition); None without Ray.
        twin: weights of the twin, or None.
        nudged: weights of the twin from first weights that were changed a little, or None.
    """

    name: str
    weights: np.ndarray
    ages: np.ndarray | None = None
    twin: np.ndarray | None = None
    nudged: np.ndarray | None = None


def table(net: Network, ways: list[Way]) -> list[Row]:
    """Return the rows of a network."""
    mine: dict[str, np.ndarray] = {}
    twins: dict[str, np.ndarray] = {}
    for way in ways:
        mine |= losses(net, way.name, way.weights)
        if way.twin is not None:
            twins |= losses(net, way.name, way.twin)
    steps = net.every * np.arange(1, net.iterations // net.every + 1)
    rows = []
    for name, each in mine.items():
        exact = twins.get(name, np.full_like(each, np.nan)).mean(-1)
        for step, values, known in zip(steps, each, exact, strict=True):
            rows.append(_row(net, "loss", name, int(step), values, known))
        rows.append(
            _row(net, "end", name, net.iterations, each[-LATE:].mean(0), exact[-LATE:].mean())
        )
    for name, each in mine.items():
        for other, values in mine.items():
            if name != other:
                gain = (each - values)[-LATE:].mean(0)
                row = _row(net, "difference", name, net.iterations, gain, np.nan)
                rows.append({**row, "other": other})
    for way in ways:
        rows += _ages(net, way) + _distances(net, way, steps)
    return rows


def losses(net: Network, name: str, weights: np.ndarray) -> dict[str, np.ndarray]:
    """Return the losses of each draw and test image, (K, n), of averaged chances and their mean."""
    logs = log_chances(net, weights)
    if len(logs) == 1:
        return {name: -logs[0]}
    return {name: -np.log(np.exp(logs).mean(0)), MEAN: -logs.mean(0)}


def _row(
    net: Network, kind: str, way: str, iterations: int, values: np.ndarray, exact: float
) -> Row:
    """Return the mean of values of the test images, and its standard error."""
    return {
        "kind": kind,
        "network": net.name,
        "way": way,
        "other": "",
        "iterations": iterations,
        "measured": float(values.mean()),
        "error": float(values.std(ddof=1) / np.sqrt(len(values))),
        "exact": float(exact),
    }


def _number(net: Network, kind: str, way: str, iterations: int, value: float) -> Row:
    """Return a number without an error."""
    row = _row(net, kind, way, iterations, np.full(2, value, float), np.nan)
    return {**row, "error": float("nan")}


def _ages(net: Network, way: Way) -> list[Row]:
    """Return the mean age and the largest one."""
    if way.ages is None:
        return []
    found = {"mean age": way.ages.mean(), "largest age": way.ages.max()}
    return [_number(net, kind, way.name, net.iterations, age) for kind, age in found.items()]


def _distances(net: Network, way: Way, steps: np.ndarray) -> list[Row]:
    """Return how far weights are from the twin's, of the twin's way from the start."""
    found = []
    for kind, weights in (("distance", way.weights), ("nudged", way.nudged)):
        if weights is not None and way.twin is not None:
            apart = np.linalg.norm(weights - way.twin, axis=-1).max(0)
            moved = np.linalg.norm(way.twin - net.start, axis=-1).max(0)
            for step, value in zip(steps, apart / moved, strict=True):
                found.append(_number(net, kind, way.name, int(step), value))
    return found
