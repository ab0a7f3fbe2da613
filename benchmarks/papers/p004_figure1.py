"""Brosse et al. (2018), figure 1: distance of the mean to the mode against N, h about 1 / N."""

import sys
from typing import Any

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, select, worst_score
from benchmarks.papers.criteria import inside, ratio
from benchmarks.papers.finding import Finding
from benchmarks.papers.p004_findings import remainders, setting_of_runs, slope_finding
from benchmarks.papers.p004_runs import METHODS, rows_of
from benchmarks.papers.picture import COLOURS, label, legend, line, panels, points

TITLE = "Distance of the mean to the mode"
MEASURED = ("distance", "norm")


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
    row = max(select(rows, method="SGLDFP"), key=lambda row: row["N"])
    values = [row["norm"], row["norm_error"], row["distance"], row["distance_error"]]
    measured, error = ratio(*values)
    return [
        *found,
        Finding(
            "the norm of a trajectory's average is the distance of SGLDFP's mean, within 10 %",
            f"{measured:.2f} ± {error:.2f} times at N = {row['N']:,}",
            f"{row['norm_exact'] / row['distance_theorem']:.2f} times by theorem 6, averages"
            " taken as normal",
            inside(measured, error, 0.9, 1.1),
            max(
                worst_score([row], "norm", "norm_exact", "norm_error"),
                worst_score([row], "distance", "distance_exact", "distance_check_error"),
            ),
        ),
    ]


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    return [
        setting_of_runs(rows),
        "",
        "We measure the distance by the average of z - θ* - H⁻¹ ∇U(z), as the last term has"
        " mean zero where the chain is stationary. The deviation is that from the plain average"
        " of z - θ*.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    return [
        "The norm of one trajectory's average over n = 1 / γ draws has a Monte Carlo error that"
        " falls as 1 / N by itself: it has slope -1 for SGLDFP and LMC even without any bias.",
        *remainders(rows, "distance"),
    ]


def draw(rows: list[Row]) -> Any:
    """Draw the mean's distance, and the paper's statistic."""
    figure, (left, right) = panels(2)
    for number, method in enumerate(METHODS):
        mine = select(rows, method=method)
        size, error = column(mine, "N"), column(mine, "distance_error")
        points(left, size, column(mine, "distance"), error, number, method)
        line(left, size, column(mine, "distance_theorem"), number)
        right.plot(size, column(mine, "norm"), "x", color=COLOURS[number])
        line(right, size, column(mine, "distance_theorem"), number)
    label(
        left, "Mean of the invariant distribution", "rows N", r"$\|\mathrm{E}\,\theta-\theta^*\|$"
    )
    title = r"The paper's statistic, $\mathrm{E}\,\|\bar\theta_n-\theta^*\|$ (crosses)"
    label(right, title, "rows N", r"$\mathrm{E}\,\|\bar\theta_n-\theta^*\|$")
    left.set_ylim(2e-5, 0.6)
    right.set_ylim(2e-5, 0.6)
    legend(figure, left, 5, "theorems 6 and 7")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
