"""Durmus et al. (2016), figure 1: bias of the variance over a run, and MSE by dimension."""

import sys
from typing import Any

import numpy as np

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, mean_and_error, select, worst_score
from benchmarks.papers.criteria import inside, ratio
from benchmarks.papers.finding import Finding
from benchmarks.papers.p003_runs import RUNS, length, methods_setting
from benchmarks.papers.picture import label, legend, line, panels, points
from benchmarks.papers.regression import posterior, random_start, runner

TITLE = "Bias over a run and error by dimension"
MEASURED = ("measured", "mse")
STEP_SIZE = 1e-3
HALF = 10**0.5
"""Half a decade."""
METHODS = ("SGLD", "SGRRLD")
CLAIMED = {"SGLD": 1e-2, "SGRRLD": 1e-4}
DIMENSIONS = (1, 2, 4, 8, 12)
BLOCKS = 20


def measure(quick: bool = False) -> list[Row]:
    """Return bias and MSE for each method, dimension and number of steps."""
    dimensions = DIMENSIONS[:1] if quick else DIMENSIONS
    return [row for m in METHODS for d in dimensions for row in _measure(m, d, quick)]


def _measure(method: str, dimension: int, quick: bool) -> list[Row]:
    steps = length(method, 2_000 if quick else 20_000)
    out = runner(method, dimension)(
        [STEP_SIZE],
        start=random_start(method, dimension, RUNS),
        burn_in=length(method, 1_000),
        blocks=BLOCKS,
        length=steps // BLOCKS,
    )
    post = posterior(dimension)
    errors = out.running()[0] - post.covariance.ravel()
    away = post.stationary(method, STEP_SIZE) - post.covariance
    bias, spread = mean_and_error(np.trace(errors.reshape(*errors.shape[:2], *away.shape), 0, 2, 3))
    mse, mse_error = mean_and_error((errors**2).sum(-1))
    variance = errors.var(0).sum(-1)
    return [
        {
            "method": method,
            "d": dimension,
            "steps": steps * (i + 1) // BLOCKS,
            "measured": float(bias[i]),
            "error": float(spread[i]),
            "exact": float(np.trace(away)),
            "variance": float(variance[i]),
            "mse": float(mse[i]),
            "mse_error": float(mse_error[i]),
            "squared_bias_exact": float((away**2).sum()),
        }
        for i in range(BLOCKS)
    ]


def findings(rows: list[Row]) -> list[Finding]:
    """Compare the levels of bias, and the two mean squared errors."""
    found = []
    for method in METHODS:
        row = select(rows, method=method, d=1)[-1]
        claimed = CLAIMED[method]
        found.append(
            Finding(
                f"bias of {method}'s variance is about {claimed:g} at h = {STEP_SIZE:g},"
                " within half a decade",
                f"{row['measured']:.2e} ± {row['error']:.1e}",
                f"{row['exact']:.2e}",
                inside(abs(row["measured"]), row["error"], claimed / HALF, claimed * HALF),
                worst_score([row]),
            )
        )
    return found + [_square(rows, d) for d in sorted({row["d"] for row in rows})]


def _square(rows: list[Row], d: int) -> Finding:
    plain, better = (select(rows, method=method, d=d)[-1] for method in METHODS)
    squared = plain["mse"] ** 2, 2 * plain["mse"] * plain["mse_error"]
    measured, error = ratio(better["mse"], better["mse_error"], *squared)
    return Finding(
        f"SGRRLD's MSE is of the order of the square of SGLD's, within half a decade, d = {d}",
        f"{better['mse']:.1e} and {plain['mse']:.1e}: {measured:.0f} ± {error:.0f} times the"
        " square",
        f"squared biases {better['squared_bias_exact']:.1e} and {plain['squared_bias_exact']:.1e}",
        inside(measured, error, 1 / HALF, HALF),
        max(_mse_score(plain), _mse_score(better)),
    )


def _mse_score(row: Row) -> float:
    return abs(row["mse"] - row["squared_bias_exact"] - row["variance"]) / row["mse_error"]


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    steps = select(rows, method="SGLD")[-1]["steps"]
    return [
        f"Ours: {methods_setting()}; SGLD {steps:,} steps after 1,000, SGRRLD half as many of both,"
        f" d = {', '.join(str(d) for d in DIMENSIONS)}. The paper: the same lengths for the left"
        " panel; its dimensions are not in its text.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    post = posterior(1)
    small = (post.stationary("SGRRLD", 1e-5) - post.covariance)[0, 0] * (STEP_SIZE / 1e-5) ** 2
    exact = (post.stationary("SGRRLD", STEP_SIZE) - post.covariance)[0, 0]
    return [
        "The exact bias of the extrapolated variance is 2 v(h/2) - v(h) - v(0), with v(h) the"
        f" stationary variance. At this step size h λ = {STEP_SIZE * post.hessian[0, 0]:.2f};"
        f" the term in h² alone would give {small:.1e}, higher ones make it {exact:.1e}.",
    ]


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
