"""papers/003, figure 1: bias of the variance over a run, and MSE of the covariance by dimension."""

import sys
from typing import Any

import numpy as np

from benchmarks.papers.common import Finding, Row, Z, column, main, mean_and_error, select
from benchmarks.papers.p003_runs import RUNS, length
from benchmarks.papers.picture import label, legend, line, panels, points
from benchmarks.papers.regression import law, random_start, runner

STEP_SIZE = 1e-3
METHODS = ("SGLD", "SGRRLD")
CLAIMED = {"SGLD": 1e-2, "SGRRLD": 1e-4}
DIMENSIONS = (1, 2, 4, 8, 12)
BLOCKS = 20


def measure(quick: bool = False) -> list[Row]:
    """Return bias and MSE for each method, dimension and number of steps."""
    methods = ("SGLD",) if quick else METHODS
    dimensions = (1,) if quick else DIMENSIONS
    return [row for m in methods for d in dimensions for row in _measure(m, d, quick)]


def _measure(method: str, dimension: int, quick: bool) -> list[Row]:
    steps = length(method, 2_000 if quick else 20_000)
    out = runner(method, dimension)(
        [STEP_SIZE],
        start=random_start(method, dimension, RUNS),
        burn_in=length(method, 1_000),
        blocks=BLOCKS,
        length=steps // BLOCKS,
    )
    post = law(dimension)
    errors = out.running()[0] - post.covariance.ravel()
    away = post.stationary(method, STEP_SIZE) - post.covariance
    bias, spread = mean_and_error(np.trace(errors.reshape(*errors.shape[:2], *away.shape), 0, 2, 3))
    mse, mse_error = mean_and_error((errors**2).sum(-1))
    return [
        {
            "method": method,
            "d": dimension,
            "steps": steps * (i + 1) // BLOCKS,
            "measured": float(bias[i]),
            "error": float(spread[i]),
            "exact": float(np.trace(away)),
            "mse": float(mse[i]),
            "mse_error": float(mse_error[i]),
            "squared_bias_exact": float((away**2).sum()),
        }
        for i in range(BLOCKS)
    ]


def findings(rows: list[Row]) -> list[Finding]:
    """Compare the levels of bias, and the two mean squared errors."""
    found = []
    last = max(row["steps"] for row in select(rows, method="SGLD", d=1))
    for method in METHODS:
        mine = select(rows, method=method, d=1)
        if not mine:
            continue
        row = mine[-1]
        close = abs(np.log10(abs(row["exact"]) / CLAIMED[method])) < 0.5
        found.append(
            Finding(
                f"bias of {method}'s variance is about {CLAIMED[method]:.0e} at h = {STEP_SIZE:g}",
                f"{row['measured']:.2e} ± {row['error']:.1e}",
                f"{row['exact']:.2e}",
                bool(close),
                abs(row["measured"] - row["exact"]) < Z * row["error"],
            )
        )
    for dimension in (1, DIMENSIONS[-1]):
        pair = [
            select(rows, method=method, d=dimension, steps=length(method, last))
            for method in METHODS
        ]
        if all(pair):
            plain, better = (mine[0] for mine in pair)
            found.append(
                Finding(
                    f"SGRRLD's MSE is of the order of the square of SGLD's, d = {dimension}",
                    f"{better['mse']:.1e} and {plain['mse']:.1e}",
                    f"squared biases {better['squared_bias_exact']:.1e} and"
                    f" {plain['squared_bias_exact']:.1e}",
                    better["squared_bias_exact"] < 10 * plain["squared_bias_exact"] ** 2,
                    better["mse"] > better["squared_bias_exact"] - Z * better["mse_error"],
                )
            )
    return found


def draw(rows: list[Row]) -> Any:
    """Draw bias against steps and MSE against dimension."""
    figure, (left, right) = panels(2)
    left.set_xscale("linear")
    for number, method in enumerate(METHODS):
        mine = select(rows, method=method, d=1)
        cost = column(mine, "steps") * (2 if method == "SGRRLD" else 1)
        points(left, cost, np.abs(column(mine, "measured")), column(mine, "error"), number, method)
        line(left, cost, np.abs(column(mine, "exact")), number)
        ends = [select(rows, method=method, d=d)[-1] for d in DIMENSIONS]
        size = column(ends, "d")
        points(right, size, column(ends, "mse"), column(ends, "mse_error"), number, method)
        line(right, size, column(ends, "squared_bias_exact"), number)
    left.axhline(CLAIMED["SGRRLD"], color="0.3", ls=":", lw=1.3, label="the paper's SGRRLD")
    label(left, "d = 1", "steps (SGRRLD: two at a time)", "|bias of the variance|")
    label(right, "after the whole run", "dimension d", "MSE of the covariance")
    legend(figure, left, 4, "exact bias, its square")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
