"""papers/003, figure 2: bias and MSE of the variance against step size, SGLD and SGRRLD."""

import sys
from typing import Any

import numpy as np

from benchmarks.papers.common import Finding, Row, column, main, select
from benchmarks.papers.p003_runs import RUNS, against_step_size, order_finding
from benchmarks.papers.picture import label, legend, line, panels, points
from benchmarks.papers.regression import expected_second_moment, law

METHODS = {"SGLD": 1, "SGRRLD": 2}
STEP_SIZES = (1e-6, 3e-6, 1e-5, 3e-5, 1e-4, 2e-4, 3.5e-4, 6e-4, 1e-3)


def measure(quick: bool = False) -> list[Row]:
    """Return bias and MSE for each method and step size, after 20,000 steps and 1,000 before."""
    if quick:
        # Eight step sizes, as figure 3's quick form: one compiled program serves both.
        sizes = tuple(np.geomspace(3e-4, 1e-3, 8))
        return against_step_size("SGRRLD", sizes, 1_000, 2_000, RUNS)
    return [row for m in METHODS for row in against_step_size(m, STEP_SIZES, 1_000, 20_000, RUNS)]


def findings(rows: list[Row]) -> list[Finding]:
    """Compare orders, and the best step size."""
    found = [order_finding(rows, m, k) for m, k in METHODS.items() if select(rows, method=m)]
    mine = select(rows, method="SGRRLD")
    if len(mine) == len(STEP_SIZES):
        for name, theory in (("measured", 8.5e-5), ("mse", 1.7e-4)):
            law = "exact" if name == "measured" else "mse"
            best, exact = (
                min(mine, key=lambda row, k=k: abs(row[k]))["step_size"] for k in (name, law)
            )
            what = "bias" if name == "measured" else "MSE"
            found.append(
                Finding(
                    f"{what} of SGRRLD is least near h = {theory:.2g}",
                    f"at {best:.2g} of the step sizes run",
                    f"at {exact:.2g}" if what == "bias" else "not known; the start decides",
                    bool(abs(np.log10(exact / theory)) < 0.5),
                    True,
                )
            )
    return found


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
        exact = np.abs(np.array(law_at) - law(1).covariance[0, 0])
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
