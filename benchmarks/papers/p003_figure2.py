"""Durmus et al. (2016), figure 2: bias and MSE of the variance against step size."""

import sys
from typing import Any

import numpy as np

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, select, worst_score
from benchmarks.papers.criteria import least, tied
from benchmarks.papers.finding import Finding
from benchmarks.papers.p003_runs import (
    RUNS,
    against_step_size,
    bias_order,
    methods_setting,
    mse_score,
)
from benchmarks.papers.picture import label, legend, line, panels, points
from benchmarks.papers.regression import expected_second_moment, posterior

TITLE = "Bias and error against step size"
MEASURED = ("measured", "mse")
METHODS = {"SGLD": 1, "SGRRLD": 2}
STEP_SIZES = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 2e-4, 3.5e-4, 6e-4, 1e-3)


def measure(quick: bool = False) -> list[Row]:
    """Return bias and MSE for each method and step size, after 20,000 steps and 1,000 before."""
    if quick:
        # Eight step sizes, as figure 3's quick form: one compiled program serves both.
        sizes = tuple(np.geomspace(1e-4, 1e-3, 8))
        return [row for m in METHODS for row in against_step_size(m, sizes, 1_000, 2_000, RUNS)]
    return [row for m in METHODS for row in against_step_size(m, STEP_SIZES, 1_000, 20_000, RUNS)]


def findings(rows: list[Row]) -> list[Finding]:
    """Compare orders, and the best step size."""
    mine = select(rows, method="SGRRLD")
    found = [bias_order(rows, method, order) for method, order in METHODS.items()]
    return [*found, _best(mine, "measured", "bias", 8.5e-5), _best(mine, "mse", "MSE", 1.7e-4)]


def _best(mine: list[Row], name: str, what: str, claimed: float) -> Finding:
    size, values = column(mine, "step_size"), np.abs(column(mine, name))
    ties = tied(values, column(mine, "error" if name == "measured" else "mse_error"))
    exact = "not known"
    if name == "measured":
        exact = f"{size[np.argmin(np.abs(column(mine, 'exact')))]:.2g} of those run"
    return Finding(
        f"{what} of SGRRLD is least near h = {claimed:.2g}, within half a decade",
        f"within 4 errors of the least: h = {size[ties].min():.2g} to {size[ties].max():.2g}",
        exact,
        least(ties, np.abs(np.log10(size / claimed)) < 0.5),
        worst_score(mine) if name == "measured" else mse_score(mine),
    )


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    plain, better = (select(rows, method=method)[0] for method in METHODS)
    return [
        f"Ours: {methods_setting()}; SGLD {plain['steps']:,} steps after {plain['burn_in']:,},"
        f" SGRRLD {better['steps']:,} after {better['burn_in']:,}. The paper: the same setting.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    row = select(rows, method="SGRRLD")[0]
    fine = np.geomspace(1e-6, 1e-3, 400)
    lengths = row["burn_in"], row["steps"]
    law = [expected_second_moment("SGRRLD", h, *lengths) for h in fine]
    signs = np.sign(np.array(law) - posterior(1).covariance[0, 0])
    crossings = ", ".join(f"{fine[i]:.1e}" for i in np.flatnonzero(np.diff(signs)))
    return [
        f"The exact bias of a run changes sign at h = {crossings}. To the left the run has not"
        " forgotten its start, so the least absolute value depends on the start's distribution.",
    ]


def draw(rows: list[Row]) -> Any:
    """Draw bias and MSE."""
    return draw_both(rows, tuple(METHODS))


def draw_both(rows: list[Row], methods: tuple[str, ...]) -> Any:
    """Draw bias and MSE of these methods against step size."""
    figure, (left, right) = panels(2)
    for number, method in enumerate(methods):
        mine = select(rows, method=method)
        size = column(mine, "step_size")
        bias = np.abs(column(mine, "measured"))
        points(left, size, bias, column(mine, "error"), number, method)
        fine = np.geomspace(size.min(), size.max(), 100)
        burn_in, steps = mine[0]["burn_in"], mine[0]["steps"]
        law_at = [expected_second_moment(method, h, burn_in, steps) for h in fine]
        exact = np.abs(np.array(law_at) - posterior(1).covariance[0, 0])
        line(left, fine, exact, number)
        points(right, size, column(mine, "mse"), column(mine, "mse_error"), number, method)
        line(right, fine, exact**2, number)
    left.set_ylim(bottom=1e-6)
    right.set_ylim(bottom=1e-9)
    label(left, "bias", "step size h", "|bias of the variance|")
    label(right, "mean squared error", "step size h", "MSE of the variance")
    legend(figure, left, 4, "exact bias of the run, its square")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
