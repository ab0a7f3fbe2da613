"""papers/004, figure 2: trace of the covariance against N, step size of order 1 / N."""

import sys
from typing import Any

from benchmarks.papers.common import Finding, Row, column, main, select
from benchmarks.papers.p004_runs import METHODS, rows_of, slope_finding
from benchmarks.papers.picture import label, legend, line, panels, points


def measure(quick: bool = False) -> list[Row]:
    """Return the runs' rows."""
    return rows_of(quick)


def findings(rows: list[Row]) -> list[Finding]:
    """Compare slopes, and SGLD's level with the posterior's and theorem 7's."""
    found = [
        slope_finding(rows, method, "trace", "trace of the covariance")
        for method in METHODS
        if select(rows, method=method)
    ]
    if not select(rows, method="SGLD"):
        return found
    row = max(select(rows, method="SGLD"), key=lambda row: row["N"])
    ratio = row["trace"] / row["posterior_trace"]
    law = row["trace_exact"] / row["posterior_trace"]
    claim = "SGLD's law stays far from the posterior, at theorem 7's level to first order in eta"
    measured = f"{ratio:.0f} times the posterior's trace at N={row['N']:,}"
    exact = f"{law:.0f} times by theorem 7, whose remainder is {ratio / law - 1:+.0%} at this eta"
    found.append(Finding(claim, measured, exact, True, True))
    return found


def draw(rows: list[Row]) -> Any:
    """Draw the traces."""
    figure, (axis,) = panels(1)
    for number, method in enumerate(METHODS):
        mine = select(rows, method=method)
        size, error = column(mine, "N"), column(mine, "trace_error")
        points(axis, size, column(mine, "trace"), error, number, method)
        line(axis, size, column(mine, "trace_exact"), number)
    posterior = select(rows, method="SGLD")
    x, y = column(posterior, "N"), column(posterior, "posterior_trace")
    axis.plot(x, y, "k:", lw=1.3, label=r"posterior, $\mathrm{tr}\,H^{-1}$")
    label(axis, "", "rows N", "trace of the covariance")
    legend(figure, axis, 6, "theorems 6 and 7")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
