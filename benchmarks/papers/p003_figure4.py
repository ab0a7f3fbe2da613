"""Durmus et al. (2016), figure 4: SGRRHMC against SGHMC and SGHMC-s (splitting)."""

import sys
from typing import Any

import numpy as np

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, select, worst_score
from benchmarks.papers.criteria import above, below, inside, ratio
from benchmarks.papers.finding import Finding
from benchmarks.papers.p003_figure2 import draw_both
from benchmarks.papers.p003_runs import (
    RUNS,
    against_step_size,
    bias_order,
    local_slope,
    methods_setting,
    mse_score,
)
from benchmarks.papers.regression import FRICTION, posterior

TITLE = "SGRRHMC against SGHMC"
MEASURED = ("measured", "mse")
METHODS = {"SGHMC": 1, "SGHMC-s": 2, "SGRRHMC": 2}
STEP_SIZES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 2e-2, 3e-2)


def measure(quick: bool = False) -> list[Row]:
    """Return bias and MSE for each method and step size, after 20,000 steps and 1,000 before."""
    if quick:
        sizes = (3e-3, 1e-2)
        return [row for m in METHODS for row in against_step_size(m, sizes, 1_000, 2_000, RUNS)]
    return [row for m in METHODS for row in against_step_size(m, STEP_SIZES, 1_000, 20_000, RUNS)]


def findings(rows: list[Row]) -> list[Finding]:
    """Compare orders, and levels at large and small step sizes."""
    found = [bias_order(rows, method, order) for method, order in METHODS.items()]
    found += [_better(rows, name, h) for h in (1e-2, 2e-2) for name in ("measured", "mse")]
    found.append(_slower(rows))
    return [f for f in [*found, _splitting(rows), _similar(rows)] if f is not None]


def _pair(rows: list[Row], first: str, second: str, h: float) -> list[Row]:
    return [row for m in (first, second) for row in select(rows, method=m, step_size=h)]


def _better(rows: list[Row], name: str, h: float) -> Finding | None:
    pair = _pair(rows, "SGRRHMC", "SGHMC", h)
    if len(pair) < 2:
        return None
    measured, error = _ratio(pair, name)
    what, exact = "MSE", "not known"
    if name == "measured":
        what, exact = "absolute bias", f"{abs(pair[0]['exact'] / pair[1]['exact']):.3f} times"
    return Finding(
        f"SGRRHMC has a smaller {what} than SGHMC at h = {h:g}, by half or more",
        f"{measured:.3f} ± {error:.3f} times",
        exact,
        below(measured, error, 0.5),
        _score(pair, name),
    )


def _slower(rows: list[Row]) -> Finding | None:
    pair = _pair(rows, "SGRRHMC", "SGHMC", 1e-4)
    if len(pair) < 2:
        return None
    measured, error = _ratio(pair, "mse")
    return Finding(
        "SGRRHMC has a larger MSE than SGHMC at h = 0.0001",
        f"{measured:.0f} ± {error:.0f} times",
        "not known",
        above(measured, error, 1.0),
        _score(pair, "mse"),
    )


def _splitting(rows: list[Row]) -> Finding | None:
    pair = _pair(rows, "SGHMC-s", "SGHMC", 1e-2)
    if len(pair) < 2:
        return None
    measured, error = _ratio(pair, "measured")
    exact = pair[0]["exact"] / pair[1]["exact"]
    return Finding(
        "SGHMC-s, of second order, has a smaller bias than SGHMC at h = 0.01, by half or more",
        f"{measured:.2f} ± {error:.2f} times",
        f"{exact:.2f} times",
        below(measured, error, 0.5),
        max(_score(pair, "measured"), abs(measured - exact) / error),
    )


def _similar(rows: list[Row]) -> Finding:
    best = {
        m: min(select(rows, method=m), key=lambda row: row["mse"]) for m in ("SGRRHMC", "SGHMC-s")
    }
    measured, error = _ratio(list(best.values()), "mse")
    at = {method: row["step_size"] for method, row in best.items()}
    return Finding(
        "SGRRHMC's least MSE is that of SGHMC-s, which takes smaller steps, within half a decade",
        f"{measured:.2f} ± {error:.2f} times, at h = {at['SGRRHMC']:g} and {at['SGHMC-s']:g}",
        "not known",
        inside(measured, error, 10**-0.5, 10**0.5),
        _score(list(best.values()), "mse"),
    )


def _ratio(pair: list[Row], name: str) -> tuple[float, float]:
    error = "error" if name == "measured" else "mse_error"
    (a, a_error), (b, b_error) = ((row[name], row[error]) for row in pair)
    return ratio(a, a_error, b, b_error)


def _score(pair: list[Row], name: str) -> float:
    return worst_score(pair) if name == "measured" else mse_score(pair)


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    plain, better = (select(rows, method=method)[0] for method in ("SGHMC", "SGRRHMC"))
    return [
        f"Ours: {methods_setting()}; friction D = {FRICTION:.0f}, which the paper does not give;"
        " SGHMC and SGRRHMC by semi-implicit Euler steps; SGHMC and SGHMC-s"
        f" {plain['steps']:,} steps after {plain['burn_in']:,}, SGRRHMC {better['steps']:,} after"
        f" {better['burn_in']:,}. The paper: the same setting as for figure 2.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    fine = np.geomspace(1e-4, 2e-2, 200)
    h = float(fine[[local_slope("SGRRHMC", h, 1 / 0.98) < 2.5 for h in fine]].max())
    post = posterior(1)
    bias = (post.stationary("SGRRHMC", h) - post.covariance)[0, 0]
    error = min(row["error"] for row in select(rows, method="SGRRHMC"))
    limits = {method: local_slope(method, 1e-5, 10.0) for method in METHODS}
    return [
        "Extrapolation removes the gradient noise's term of first order, splitting does not: as"
        f" h → 0 the exact slopes are {', '.join(f'{v:.2f} ({k})' for k, v in limits.items())}.",
        f"SGRRHMC's exact slope is below 2.5 up to h = {h:.4f}, where the bias is"
        f" {abs(bias):.1e}; the runs' least standard error is {error:.1e}.",
    ]


def draw(rows: list[Row]) -> Any:
    """Draw bias and MSE."""
    return draw_both(rows, tuple(METHODS))


if __name__ == "__main__":
    main(sys.modules[__name__])
