"""Step sizes of figure 3 of Chen, Ding and Carin (2015): of the least exact bias at L = 500."""

from typing import Any

import numpy as np

from benchmarks.papers.finite_time import exact_errors, fixed_step_bias
from benchmarks.papers.gaussian import BATCH, RECURSIONS, UNIT

ALPHA = {"langevin": 1 / 2, "splitting": 1 / 3}
FRICTIONS = {"langevin": (1.0,), "splitting": (10.0, 20.0, 30.0)}
SHORTEST = 500


def exact_bias(dynamics: str, friction: float, kind: str, c: float, counts: Any) -> np.ndarray:
    """Return the bias after each number of steps."""
    alpha = ALPHA[dynamics]

    def build(h: float) -> Any:
        return RECURSIONS[dynamics](h, UNIT, friction)

    if kind == "fixed":
        sizes = [c * count**-alpha for count in counts]
        pairs = zip(sizes, counts, strict=True)
        return np.array([fixed_step_bias(build(h), h, BATCH, count) for h, count in pairs])
    steps = c * np.arange(1, max(counts) + 1) ** -alpha
    return exact_errors(build, steps, BATCH, counts, with_mse=False).bias


def best(dynamics: str, kind: str, lowest: float | None = None) -> tuple[float, float]:
    """Return friction and C of the least bias at L = 500, from the paper's grids or from below."""
    grid = np.arange(1e-3, 0.5, 2e-3) if kind == "fixed" else np.arange(3e-3, 0.05, 2e-3)
    if lowest is not None:
        grid = np.geomspace(lowest, 0.05, 30)
    choices = [(friction, float(c)) for friction in FRICTIONS[dynamics] for c in grid]
    with np.errstate(over="ignore", invalid="ignore"):
        bias = [abs(exact_bias(dynamics, f, kind, c, [SHORTEST])[0]) for f, c in choices]
    return choices[int(np.nanargmin(bias))]


def small_start(counts: Any) -> tuple[float, np.ndarray]:
    """Return SGLD's bias with decreasing steps from a C that may lie below the paper's grid.

    That grid begins at 0.003, where SGLD is unstable until its steps fall below 2 / lambda = 0.002.
    """
    friction, c = best("langevin", "decreasing", 1e-4)
    return c, exact_bias("langevin", friction, "decreasing", c, counts)
