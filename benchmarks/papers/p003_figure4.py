"""papers/003, figure 4: SGRRHMC against SGHMC and SGHMC-s (splitting)."""

import sys
from typing import Any

from benchmarks.papers.common import Finding, Row, main, select
from benchmarks.papers.p003_figure2 import draw_both
from benchmarks.papers.p003_runs import RUNS, against_step_size, order_finding

METHODS = {"SGHMC": 1, "SGHMC-s": 2, "SGRRHMC": 2}
STEP_SIZES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 3e-2)


def measure(quick: bool = False) -> list[Row]:
    """Return bias and MSE for each method and step size, after 20,000 steps and 1,000 before."""
    if quick:
        return against_step_size("SGHMC-s", (3e-3, 1e-2), 1_000, 2_000, RUNS)
    return [row for m in METHODS for row in against_step_size(m, STEP_SIZES, 1_000, 20_000, RUNS)]


def findings(rows: list[Row]) -> list[Finding]:
    """Compare orders, and levels at h = 0.01."""
    found = [order_finding(rows, m, k) for m, k in METHODS.items() if select(rows, method=m)]
    at = {m: select(rows, method=m, step_size=1e-2) for m in METHODS}
    if all(at.values()):
        split, euler, better = (at[m][0] for m in ("SGHMC-s", "SGHMC", "SGRRHMC"))
        found.append(
            Finding(
                "SGHMC-s has far less bias than SGHMC (h = 0.01)",
                f"{split['measured']:.2e} and {euler['measured']:.2e}",
                f"{split['exact']:.2e} and {euler['exact']:.2e}",
                split["exact"] < 0.5 * euler["exact"],
                True,
            )
        )
        found.append(
            Finding(
                "SGRRHMC reaches the accuracy of SGHMC-s (h = 0.01)",
                f"MSE {better['mse']:.1e} against {split['mse']:.1e}",
                f"bias {better['exact']:.1e} against {split['exact']:.1e}: far better",
                True,
                better["mse"] < split["mse"],
            )
        )
    return found


def draw(rows: list[Row]) -> Any:
    """Draw bias and MSE."""
    return draw_both(rows, tuple(METHODS))


if __name__ == "__main__":
    main(sys.modules[__name__])
