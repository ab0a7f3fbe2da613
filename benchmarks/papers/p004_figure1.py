"""papers/004, figure 1: distance of the mean to the mode against N, step size of order 1 / N."""

import sys
from typing import Any

import numpy as np

from benchmarks.papers.common import Finding, Row, column, main, select
from benchmarks.papers.p004_runs import METHODS, rows_of, slope_finding
from benchmarks.papers.picture import COLOURS, label, legend, line, panels, points


def measure(quick: bool = False) -> list[Row]:
    """Return the runs' rows."""
    return rows_of(quick)


def findings(rows: list[Row]) -> list[Finding]:
    """Compare slopes, and the paper's statistic with the distance it stands for."""
    found = [
        slope_finding(rows, method, "distance", "distance to the mode")
        for method in METHODS
        if select(rows, method=method)
    ]
    largest = max(select(rows, method="SGLDFP"), key=lambda row: row["N"])
    ratio = largest["paper_distance"] / largest["distance_exact"]
    expected = largest["paper_distance_exact"] / largest["distance_exact"]
    # A mean over independent trajectories of a length whose relative spread is below 1 / sqrt(2).
    tolerance = 4 * expected / np.sqrt(2 * largest["trajectories"])
    claim = "the norm of a trajectory's average shows the bias of SGLDFP"
    line_ = f"its mean is {ratio:.2f} times the bias at N={largest['N']:,}"
    exact = f"{expected:.2f}, its Monte Carlo error falls as 1/N too"
    found.append(Finding(claim, line_, exact, False, bool(abs(ratio - expected) < tolerance)))
    return found


def draw(rows: list[Row]) -> Any:
    """Draw the mean's distance, and the paper's statistic."""
    figure, (left, right) = panels(2)
    for number, method in enumerate(METHODS):
        mine = select(rows, method=method)
        size, error = column(mine, "N"), column(mine, "distance_error")
        points(left, size, column(mine, "distance"), error, number, method)
        line(left, size, column(mine, "distance_exact"), number)
        right.plot(size, column(mine, "paper_distance"), "x", color=COLOURS[number])
        line(right, size, column(mine, "distance_exact"), number)
    label(left, "Mean of the invariant law", "rows N", r"$\|\mathrm{E}\,\theta-\theta^*\|$")
    title = r"The paper's statistic, $\mathrm{E}\,\|\bar\theta_n-\theta^*\|$ (crosses)"
    label(right, title, "rows N", r"$\mathrm{E}\,\|\bar\theta_n-\theta^*\|$")
    left.set_ylim(2e-5, 0.6)
    right.set_ylim(2e-5, 0.6)
    legend(figure, left, 5, "theorems 6 and 7")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
