"""Durmus et al. (2016), figure 3: bias and MSE of SGRRLD for step sizes K^-alpha.

The paper's constants: 2e-3 K^-alpha for the bias and 1e-3 K^-alpha for the MSE, at K = 10^6. Here K
goes to 10,000 in runs and to 10^6 in the exact bias; the first twentieth is discarded, as in the
paper's figure 1.
"""

import sys
from typing import Any

import numpy as np

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, select, slope, worst_score
from benchmarks.papers.criteria import decided, least, rate, tied
from benchmarks.papers.finding import Finding
from benchmarks.papers.p003_runs import RUNS, against_step_size, methods_setting, mse_score
from benchmarks.papers.picture import label, legend, line, panels, points
from benchmarks.papers.regression import expected_second_moment, posterior

TITLE = "Rates"
MEASURED = ("measured", "mse")
CONSTANT = {"bias": 2e-3, "mse": 1e-3}
BEST = {"bias": 1 / 3, "mse": 0.2}
RATES = (0.1, 0.2, 1 / 3, 0.5)
LENGTHS = (1_000, 3_000, 10_000)


def measure(quick: bool = False) -> list[Row]:
    """Return bias and MSE for each constant, rate and number of transitions."""
    lengths = LENGTHS[:2] if quick else LENGTHS
    sizes = [(name, rate) for name in CONSTANT for rate in RATES]
    rows = []
    for count in lengths:
        steps = [CONSTANT[name] * count**-rate for name, rate in sizes]
        # `against_step_size` halves the transitions of extrapolated kernels.
        runs = against_step_size("SGRRLD", steps, count // 10, 2 * count, RUNS)
        for (name, alpha), row in zip(sizes, runs, strict=True):
            rows.append({"constant_for": name, "alpha": round(alpha, 4), **row})
    return rows


def exact_bias(alpha: float, count: int, *, burn_in: bool) -> float:
    """Return the exact bias after `count` transitions."""
    h = CONSTANT["bias"] * count**-alpha
    first = count // 20 if burn_in else 0
    return expected_second_moment("SGRRLD", h, first, count) - posterior(1).covariance[0, 0]


def findings(rows: list[Row]) -> list[Finding]:
    """Compare best exponents and rates."""
    found = [_best(rows, "bias"), *_far(), _best(rows, "mse")]
    mine = select(rows, constant_for="mse", alpha=BEST["mse"])
    return [*found, _rate(mine)] if len(mine) > 1 else found


def _best(rows: list[Row], name: str) -> Finding:
    longest = max(row["steps"] for row in rows)
    mine = select(rows, constant_for=name, steps=longest)
    measured, error = ("measured", "error") if name == "bias" else ("mse", "mse_error")
    alpha, values = column(mine, "alpha"), np.abs(column(mine, measured))
    ties = tied(values, column(mine, error))
    exact = "not known"
    if name == "bias":
        exact = f"{alpha[np.argmin(np.abs(column(mine, 'exact')))]:.2f} there"
    return Finding(
        f"alpha = {BEST[name]:.2f} is best for SGRRLD's {'bias' if name == 'bias' else 'MSE'}",
        f"{' or '.join(f'{a:.2f}' for a in alpha[ties])} at K = {longest:,}",
        exact,
        least(ties, np.isclose(alpha, BEST[name], atol=1e-3)),
        worst_score(mine) if name == "bias" else mse_score(mine),
    )


def _far() -> list[Finding]:
    """Judge the bias at the paper's K, and its rate, by the exact recursion alone."""
    found = []
    for burn_in in (True, False):
        what = "a twentieth discarded" if burn_in else "nothing discarded"
        size = [abs(exact_bias(rate, 10**6, burn_in=burn_in)) for rate in RATES]
        best = RATES[int(np.argmin(size))]
        claim = f"alpha = 0.33 is best for SGRRLD's bias at K = 10⁶, {what}"
        verdict = decided(best == BEST["bias"], best != BEST["bias"])
        found.append(Finding(claim, "", f"{best:.2f}", verdict, None))
    ends = [abs(exact_bias(1 / 3, 10**power, burn_in=False)) for power in (8, 9)]
    fall = float(np.log10(ends[1] / ends[0]))
    claim = "bias falls as K^-0.67 at alpha = 0.33, nothing discarded"
    # Nearer to the claimed rate than to that of a method of first order.
    verdict = decided(fall < -0.5, fall >= -0.5)
    found.append(Finding(claim, "", f"K^{fall:.2f} at K = 10⁹", verdict, None))
    return found


def _rate(mine: list[Row]) -> Finding:
    count, error = column(mine, "steps"), column(mine, "mse_error")
    measured, spread = slope(count, column(mine, "mse"), error)
    return Finding(
        "MSE falls at least as fast as K^-0.80 at alpha = 0.20",
        f"K^{measured:.2f} ± {spread:.2f}, K = {count.min():,} to {count.max():,}",
        "not known",
        rate(-0.8, -0.4, measured, spread),
        mse_score(mine),
    )


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    counts = sorted({row["steps"] for row in rows})
    return [
        f"Ours: {methods_setting()}; K = {', '.join(f'{n:,}' for n in counts)} transitions after"
        f" a twentieth, alpha = {', '.join(f'{a:.2f}' for a in RATES)}. The paper: K = 10⁶,"
        " which here only the exact recursion reaches; what it discards is not given.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    longest = max(row["steps"] for row in rows)
    row = select(rows, constant_for="mse", steps=longest, alpha=BEST["mse"])[0]
    return [
        "Theorem 2 bounds the bias by the start's part, 1 / (K h), and a part of order h². After a"
        " burn-in the start's part falls exponentially instead, and smaller steps win.",
        f"At K = {longest:,} and alpha = {BEST['mse']:.2f} the squared bias is"
        f" {row['exact'] ** 2 / row['mse']:.1%} of the mean squared error: these runs measure the"
        " variance.",
    ]


def draw(rows: list[Row]) -> Any:
    """Draw bias and MSE against the number of transitions."""
    figure, (left, right) = panels(2)
    far = np.unique(np.geomspace(min(LENGTHS), 1e6, 40).round().astype(int))
    for number, alpha in enumerate(RATES):
        mine = select(rows, constant_for="bias", alpha=round(alpha, 4))
        bias, error = np.abs(column(mine, "measured")), column(mine, "error")
        points(left, column(mine, "steps"), bias, error, number, f"α = {alpha:.2f}")
        exact = [abs(exact_bias(alpha, int(count), burn_in=True)) for count in far]
        line(left, far, np.array(exact), number)
        mine = select(rows, constant_for="mse", alpha=round(alpha, 4))
        count = column(mine, "steps")
        points(right, count, column(mine, "mse"), column(mine, "mse_error"), number, "")
        line(right, count, column(mine, "exact") ** 2, number)
    left.set_ylim(bottom=1e-8)
    right.set_ylim(bottom=1e-10)
    label(left, r"$h = 0.002\,K^{-\alpha}$", "transitions K", "|bias of the variance|")
    label(right, r"$h = 0.001\,K^{-\alpha}$", "transitions K", "MSE of the variance")
    legend(figure, left, 5, "exact bias, its square")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
