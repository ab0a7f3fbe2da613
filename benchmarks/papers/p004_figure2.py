"""Brosse et al. (2018), figure 2: trace of the covariance against N, step size of order 1 / N."""

import sys
from typing import Any

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, select, worst_score
from benchmarks.papers.criteria import above, inside, ratio
from benchmarks.papers.finding import Finding
from benchmarks.papers.p004_findings import remainders, setting_of_runs, slope_finding
from benchmarks.papers.p004_runs import METHODS, rows_of
from benchmarks.papers.picture import label, legend, line, panels, points

TITLE = "Trace of the covariance"
MEASURED = ("trace",)


def measure(quick: bool = False) -> list[Row]:
    """Return the runs' rows."""
    return rows_of(quick)


def findings(rows: list[Row]) -> list[Finding]:
    """Compare slopes, and SGLD's level with the posterior's and SGD's."""
    found = [
        slope_finding(rows, method, "trace", "trace of the covariance")
        for method in METHODS
        if select(rows, method=method)
    ]
    return [*found, _far(rows), *([_like_sgd(rows)] if select(rows, method="SGD") else [])]


def _largest(rows: list[Row], method: str) -> Row:
    return max(select(rows, method=method), key=lambda row: row["N"])


def _far(rows: list[Row]) -> Finding:
    row = _largest(rows, "SGLD")
    measured, error = (row[k] / row["posterior_trace"] for k in ("trace", "trace_error"))
    theorem = row["trace_theorem"] / row["posterior_trace"]
    return Finding(
        "SGLD's covariance stays far from the posterior's, by a factor of 10 or more",
        f"{measured:.0f} ± {error:.0f} times its trace at N = {row['N']:,}",
        f"{theorem:.0f} times by theorem 7's leading term",
        above(measured, error, 10.0),
        _score([row]),
    )


def _like_sgd(rows: list[Row]) -> Finding:
    pair = [_largest(rows, method) for method in ("SGLD", "SGD")]
    (a, a_error), (b, b_error) = ((row["trace"], row["trace_error"]) for row in pair)
    measured, error = ratio(a, a_error, b, b_error)
    theorem = pair[0]["trace_theorem"] / pair[1]["trace_theorem"]
    return Finding(
        "SGLD's covariance is that of SGD, within 5 %",
        f"{measured:.3f} ± {error:.3f} times its trace at N = {pair[0]['N']:,}",
        f"{theorem:.3f} times by theorem 7's leading term",
        inside(measured, error, 0.95, 1.05),
        _score(pair),
    )


def _score(rows: list[Row]) -> float:
    return worst_score(rows, "trace", "trace_exact", "trace_check_error")


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    return [
        setting_of_runs(rows),
        "",
        "Second moments are taken about the mode, as in the theorems; the paper's figure takes them"
        " about each trajectory's average. The deviation is that from the trace that stationarity"
        " demands, an identity without remainder (`Local.balance` in"
        " `benchmarks/papers/logistic.py`).",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    eta = [row["step_size"] * row["N"] for row in select(rows, method="SGLD")]
    return [
        f"Theorem 7 is an expansion in η = γ N, which is {min(eta):.1f} to {max(eta):.1f} here.",
        *remainders(rows, "trace"),
    ]


def draw(rows: list[Row]) -> Any:
    """Draw the traces."""
    figure, (axis,) = panels(1)
    for number, method in enumerate(METHODS):
        mine = select(rows, method=method)
        size, error = column(mine, "N"), column(mine, "trace_error")
        points(axis, size, column(mine, "trace"), error, number, method)
        line(axis, size, column(mine, "trace_theorem"), number)
    posterior = select(rows, method="SGLD")
    x, y = column(posterior, "N"), column(posterior, "posterior_trace")
    axis.plot(x, y, "k:", lw=1.3, label=r"posterior, $\mathrm{tr}\,H^{-1}$")
    label(axis, "", "rows N", "trace of the covariance")
    legend(figure, axis, 6, "theorems 6 and 7")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
