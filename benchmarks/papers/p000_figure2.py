"""Chen, Ding and Carin (2015), figure 2: bias and MSE of SGHMC with splitting, by rate alpha."""

import sys
from typing import Any

import numpy as np

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, select, slope, worst_score
from benchmarks.papers.criteria import decided, least, rate, tied
from benchmarks.papers.finding import Finding
from benchmarks.papers.finite_time import fixed_step_bias
from benchmarks.papers.gaussian import BATCH
from benchmarks.papers.gaussian import setting as setting_of_model
from benchmarks.papers.p000_runs import (
    CHAINS,
    DECREASING,
    FIXED,
    FRICTION,
    LENGTHS,
    RATES,
    build,
    measure,
)
from benchmarks.papers.picture import label, legend, line, panels, points

__all__ = ["draw", "findings", "measure", "remarks", "setting"]

TITLE = "Bias and mean squared error by rate"
MEASURED = ("bias", "mse")
NAMES = {"bias": "bias", "mse": "MSE"}
POWER = {"bias": 1, "mse": 2}
BEST = {"bias": 1 / 3, "mse": 0.2}
"""The best rates of a method of second order (section 4 of the paper)."""


def exact_rate(name: str, alpha: float, batch: int | None) -> float:
    """Return the exact rate in L as L -> infinity, at h = C L^-alpha.

    The stationary bias is of order k in h, and the start adds 1 / (L h); the mean squared error is
    the square of the first and a variance of order 1 / (L h).
    """
    post = setting_of_model()
    small = [post.stationary_variance(build(h), h, batch) - post.variance for h in (1e-5, 1e-4)]
    order = float(np.log10(small[1] / small[0]))
    return max(-POWER[name] * order * alpha, alpha - 1)


def findings(rows: list[Row]) -> list[Finding]:
    """Compare rates and best exponents."""
    found = []
    for name in ("bias", "mse"):
        scores = {
            kind: worst_score(select(rows, schedule=kind), name, f"{name}_exact", f"{name}_error")
            for kind in ("fixed", "decreasing")
        }
        found += [_best(rows, name, kind, score) for kind, score in scores.items()]
        for batch in (BATCH, 0):
            found.append(_best_in_the_limit(name, batch))
            mine = select(rows, schedule="fixed", batch=batch, alpha=round(BEST[name], 4))[-2:]
            if mine:
                found.append(_rate(mine, name, batch))
    return found


def _best(rows: list[Row], name: str, kind: str, score: float) -> Finding:
    longest = max(row["L"] for row in rows)
    mine = select(rows, schedule=kind, batch=BATCH, L=longest)
    alpha, values = column(mine, "alpha"), np.abs(column(mine, name))
    ties = tied(values, column(mine, f"{name}_error"))
    exact = alpha[np.argmin(np.abs(column(mine, f"{name}_exact")))]
    return Finding(
        f"best alpha for the {NAMES[name]} is {BEST[name]:.2f}, {kind} steps, B = {BATCH}",
        f"{' or '.join(f'{a:.2f}' for a in alpha[ties])} at L = {longest:,}",
        f"{exact:.2f} there",
        least(ties, np.isclose(alpha, BEST[name], atol=1e-3)),
        score,
    )


def _best_in_the_limit(name: str, batch: int) -> Finding:
    rates = np.array([exact_rate(name, alpha, batch or None) for alpha in RATES])
    best = RATES[int(np.argmin(rates))]
    return Finding(
        f"the same as L → infinity, fixed steps, {_gradients(batch)}",
        "",
        f"{best:.2f}, of {', '.join(f'{a:.2f}' for a in RATES)}",
        decided(best == BEST[name], best != BEST[name]),
        None,
    )


def _rate(mine: list[Row], name: str, batch: int) -> Finding:
    alpha = BEST[name]
    # Of a method of second order, as the paper claims, and of one of first order.
    claimed, slower = (max(-POWER[name] * k * alpha, alpha - 1) for k in (2, 1))
    count, error = column(mine, "L"), column(mine, f"{name}_error")
    measured, spread = slope(count, column(mine, name), error)
    exact, _ = slope(count, column(mine, f"{name}_exact"), error)
    limit = exact_rate(name, alpha, batch or None)
    levels = worst_score(mine, name, f"{name}_exact", f"{name}_error")
    return Finding(
        f"{NAMES[name]} falls at least as fast as L^{claimed:.2f} at alpha = {alpha:.2f},"
        f" {_gradients(batch)}",
        f"L^{measured:.2f} ± {spread:.2f}, L = {count.min():,} to {count.max():,}",
        f"L^{exact:.2f} there, L^{limit:.2f} as L → infinity",
        rate(claimed, slower, measured, spread),
        max(levels, abs(measured - exact) / spread),
    )


def _gradients(batch: int) -> str:
    return f"B = {batch}" if batch else "exact gradients"


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    return [
        f"Ours: D = {FRICTION:.0f}, {CHAINS} runs from the prior, L ="
        f" {', '.join(f'{n:,}' for n in LENGTHS)}, alpha = {', '.join(f'{a:.2f}' for a in RATES)};"
        f" prefactors {FIXED} and {DECREASING} as in the paper. The paper: 200 runs from random"
        " starts; its friction, its alpha and its largest L are not in its text. A rate holds where"
        " the slope is not flatter than claimed and is steeper than a method's of first order.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    grid = np.linspace(0.3, 0.6, 31)
    best = {}
    for power in (4, 5, 6, 8):
        count = 10.0**power
        bias = [abs(fixed_step_bias(build(h := FIXED * count**-a), h, BATCH, count)) for a in grid]
        best[power] = grid[int(np.argmin(bias))]
    text = ", ".join(f"{value:.2f} at L = 10^{power}" for power, value in best.items())
    return [f"The exact best alpha for the bias of fixed steps with B = {BATCH} moves: {text}."]


def draw(rows: list[Row]) -> Any:
    """Draw bias and MSE against the number of steps."""
    figure, axes = panels(4, 6.2, rows=2)
    cells = [(n, k) for n in ("bias", "mse") for k in ("decreasing", "fixed")]
    for axis, (name, kind) in zip(axes, cells, strict=True):
        for number, alpha in enumerate(RATES):
            mine = select(rows, schedule=kind, batch=BATCH, alpha=round(alpha, 4))
            count, error = column(mine, "L"), column(mine, f"{name}_error")
            points(axis, count, np.abs(column(mine, name)), error, number, f"α = {alpha:.2f}")
            line(axis, count, np.abs(column(mine, f"{name}_exact")), number)
        what = {"bias": r"|bias of $\theta^2$|", "mse": r"MSE of $\theta^2$"}[name]
        label(axis, f"SGHMC-{kind[0].upper()}, {kind} steps", "steps L", what)
    legend(figure, axes[0], 6, "exact")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
