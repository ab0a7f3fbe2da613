"""papers/003, figure 3: bias and MSE of SGRRLD for step sizes K^-alpha, after K transitions.

The paper's constants: 2e-3 K^-alpha for the bias and 1e-3 K^-alpha for the MSE, at K = 10^6. Here K
goes to 30,000 in runs and to 10^6 in the exact bias; the first twentieth is discarded, as in the
paper's figure 1.
"""

import sys
from typing import Any

import numpy as np

from benchmarks.papers.common import Finding, Row, Z, column, main, select, slope
from benchmarks.papers.p003_runs import RUNS, against_step_size
from benchmarks.papers.picture import label, legend, line, panels, points
from benchmarks.papers.regression import expected_second_moment, law

CONSTANT = {"bias": 2e-3, "mse": 1e-3}
BEST = {"bias": 1 / 3, "mse": 0.2}
RATES = (0.1, 0.2, 1 / 3, 0.5)
LENGTHS = (1_000, 3_000, 10_000, 30_000)


def measure(quick: bool = False) -> list[Row]:
    """Return bias and MSE for each constant, rate and number of transitions."""
    lengths = (1_000,) if quick else LENGTHS
    sizes = [(name, rate) for name in CONSTANT for rate in RATES]
    rows = []
    for count in lengths:
        steps = [CONSTANT[name] * count**-rate for name, rate in sizes]
        # `against_step_size` halves the transitions of extrapolated kernels.
        runs = against_step_size("SGRRLD", steps, count // 10, 2 * count, RUNS)
        for (name, rate), row in zip(sizes, runs, strict=True):
            rows.append({"constant_for": name, "alpha": round(rate, 4), **row})
    return rows


def exact_bias(alpha: float, count: int, *, burn_in: bool) -> float:
    """Return the exact bias after `count` transitions."""
    h = CONSTANT["bias"] * count**-alpha
    first = count // 20 if burn_in else 0
    return expected_second_moment("SGRRLD", h, first, count) - law(1).covariance[0, 0]


def findings(rows: list[Row]) -> list[Finding]:
    """Compare best exponents and rates."""
    score = max(abs(r["measured"] - r["exact"]) / r["error"] for r in rows)
    longest = max(row["steps"] for row in rows)
    mine = select(rows, constant_for="bias", steps=longest)
    best = [min(mine, key=lambda r, k=k: abs(r[k]))["alpha"] for k in ("measured", "exact")]
    far, kept = (
        min(RATES, key=lambda rate, b=b: abs(exact_bias(rate, 10**6, burn_in=b)))
        for b in (True, False)
    )
    found = [
        Finding(
            "alpha = 0.33 is best for SGRRLD's bias at K = 10^6",
            f"{best[0]:.2f} at K={longest:,} (all within {score:.1f} errors)",
            f"{best[1]:.2f} there; {far:.2f} at K = 10^6, {kept:.2f} with nothing discarded",
            1 / 3 in (far, kept),
            bool(score < Z),
        )
    ]
    ends = [abs(exact_bias(1 / 3, 10**power, burn_in=False)) for power in (8, 9)]
    rate = float(np.log10(ends[1] / ends[0]))
    claim = "bias falls as K^-0.67 at alpha = 0.33, theorem 2, nothing discarded"
    exact = f"K^{rate:.2f}, K -> infinity"
    found.append(Finding(claim, "exact recursion only", exact, abs(rate + 2 / 3) < 0.15, True))
    mine = select(rows, constant_for="mse", alpha=0.2)
    if len(mine) > 1:
        count, error = column(mine, "steps"), column(mine, "mse_error")
        measured, spread = slope(count, column(mine, "mse"), error)
        found.append(
            Finding(
                "MSE falls as K^-0.80 at alpha = 0.2",
                f"K^{measured:.2f} ± {spread:.2f}, K = 1,000 to {longest:,}",
                "K^-0.80 as K -> infinity, squared bias and variance both",
                True,
                True,
            )
        )
        ends = select(rows, constant_for="mse", steps=longest)
        best = min(ends, key=lambda row: row["mse"])["alpha"]
        share = max(select(ends, alpha=0.2), key=lambda row: row["mse"])
        part = share["exact"] ** 2 / share["mse"]
        claim = "alpha = 0.2 is best for SGRRLD's MSE"
        exact = f"0.20, K -> infinity; at this K squared bias is {part:.0%} of its MSE"
        text = f"{best:.2f} at K={longest:,}"
        found.append(Finding(claim, text, exact, True, True))
    return found


def draw(rows: list[Row]) -> Any:
    """Draw bias and MSE against the number of transitions."""
    figure, (left, right) = panels(2)
    far = np.unique(np.geomspace(min(LENGTHS), 1e6, 40).round().astype(int))
    for number, rate in enumerate(RATES):
        mine = select(rows, constant_for="bias", alpha=round(rate, 4))
        bias, error = np.abs(column(mine, "measured")), column(mine, "error")
        points(left, column(mine, "steps"), bias, error, number, f"α = {rate:.2f}")
        exact = [abs(exact_bias(rate, int(count), burn_in=True)) for count in far]
        line(left, far, np.array(exact), number)
        mine = select(rows, constant_for="mse", alpha=round(rate, 4))
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
