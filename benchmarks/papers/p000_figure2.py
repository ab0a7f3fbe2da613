"""papers/000, figure 2: bias and MSE of SGHMC with splitting for step sizes of rate alpha.

Fixed steps h = 0.033 L^-alpha (SGHMC-F); decreasing ones h_l = 0.045 l^-alpha with averages
weighted by step size (SGHMC-D). Random starts; the prefactors are the paper's.
"""

import sys
from typing import Any

import numpy as np

from benchmarks.papers.common import Finding, Row, Z, column, main, mean_and_error, select, slope
from benchmarks.papers.finite_time import exact_errors, fixed_step_bias
from benchmarks.papers.gaussian import BATCH, RECURSIONS, UNIT, random_start, runner
from benchmarks.papers.gaussian import error_of_square as error_of
from benchmarks.papers.picture import label, legend, line, panels, points

FRICTION = 30.0
FIXED, DECREASING = 0.033, 0.045
RATES = (0.1, 0.2, 1 / 3, 0.5, 0.7)
LENGTHS = (100, 1_000, 10_000)
BLOCKS = 10


def build(h: float) -> Any:
    """Return the splitting integrator's matrices."""
    return RECURSIONS["splitting"](h, UNIT, FRICTION)


def measure(quick: bool = False) -> list[Row]:
    """Return bias and MSE for each schedule, rate and number of steps."""
    rates = (1 / 3,) if quick else RATES
    lengths = (1_000,) if quick else LENGTHS
    start = random_start(400)
    rows = []
    for length in lengths:
        size = length // BLOCKS
        run = {"start": start, "burn_in": 0, "blocks": BLOCKS, "length": size}
        sampler = runner("splitting", FRICTION)
        fixed = [FIXED * length**-rate for rate in rates]
        out = error_of(sampler(fixed, **run).running())[:, :, -1:]
        for rate, h, errors in zip(rates, fixed, out, strict=True):
            steps = np.full(length, np.float64(np.float32(h)))
            rows += _rows("fixed", rate, errors, steps, [length])
        if length == max(lengths):
            out = error_of(
                sampler([DECREASING] * len(rates), exponents=rates, seed=1, **run).running()
            )
            for rate, errors in zip(rates, out, strict=True):
                steps = DECREASING * np.arange(1, length + 1) ** -rate
                rows += _rows("decreasing", rate, errors, steps, size * np.arange(1, BLOCKS + 1))
    return rows


def _rows(kind: str, rate: float, errors: np.ndarray, steps: np.ndarray, wanted: Any) -> list[Row]:
    """Return a row for each number of steps, from the chains' errors (chains, len(wanted))."""
    bias, bias_error = mean_and_error(errors)
    mse, mse_error = mean_and_error(errors**2)
    exact = exact_errors(build, steps, BATCH, wanted)
    return [
        {
            "schedule": kind,
            "alpha": round(rate, 4),
            "L": int(count),
            "bias": float(bias[i]),
            "bias_error": float(bias_error[i]),
            "bias_exact": float(exact.bias[i]),
            "mse": float(mse[i]),
            "mse_error": float(mse_error[i]),
            "mse_exact": float(exact.mse[i]),
        }
        for i, count in enumerate(wanted)
    ]


def rate_at(alpha: float, steps: float, batch: int | None) -> float:
    """Return d log |bias| / d log L of SGHMC-F at L steps."""
    pair = [
        fixed_step_bias(build(h := FIXED * count**-alpha), h, batch, count)
        for count in (steps, 1.1 * steps)
    ]
    return float(np.log(pair[1] / pair[0]) / np.log(1.1))


def findings(rows: list[Row]) -> list[Finding]:
    """Compare rates and best exponents."""
    scores = {
        name: max(abs(r[name] - r[f"{name}_exact"]) / r[f"{name}_error"] for r in rows)
        for name in ("bias", "mse")
    }
    longest = max(row["L"] for row in rows)
    found = []
    for name, alpha, theory, truth in (("bias", 1 / 3, -2 / 3, 1 / 2), ("mse", 0.2, -0.8, 1 / 3)):
        for kind in ("fixed", "decreasing"):
            mine = [r for r in select(rows, schedule=kind, L=longest)]
            best = [
                min(mine, key=lambda r, k=k: abs(r[k]))["alpha"] for k in (name, f"{name}_exact")
            ]
            found.append(
                Finding(
                    f"best alpha for the {name}, {kind} steps, is {alpha:.2f}",
                    f"{best[0]:.2f} at L={longest:,} (within {scores[name]:.1f} errors)",
                    f"{best[1]:.2f} there, {truth:.2f} as L -> infinity",
                    False,
                    scores[name] < Z,
                )
            )
        far = 1e12 if name == "bias" else 1e18  # there the terms in h outweigh the start's
        noisy, smooth = (rate_at(alpha, far, batch) for batch in (BATCH, None))
        if name == "mse":  # its variance falls as 1 / (L h)
            noisy, smooth = (max(2 * rate, alpha - 1) for rate in (noisy, smooth))
        for what, rate in ((f"B = {BATCH}", noisy), ("exact gradients", smooth)):
            claim = f"{name} falls as L^{theory:.2f} at alpha = {alpha:.2f}, {what}"
            text, there = "not run", ""
            mine = select(rows, schedule="fixed", alpha=round(alpha, 4))[-2:]
            if what.startswith("B") and len(mine) > 1:
                count, error = column(mine, "L"), column(mine, f"{name}_error")
                measured, spread = slope(count, column(mine, name), error)
                exact, _ = slope(count, column(mine, f"{name}_exact"), error)
                text = f"L^{measured:.2f} ± {spread:.2f}, L = {count.min():,} to {count.max():,}"
                there = f"L^{exact:.2f} there, "
            holds = abs(rate - theory) < 0.15
            found.append(Finding(claim, text, f"{there}L^{rate:.2f} as L -> infinity", holds, True))
    return found


def draw(rows: list[Row]) -> Any:
    """Draw bias and MSE against the number of steps."""
    figure, axes = panels(4, 6.2, rows=2)
    cells = [(n, k) for n in ("bias", "mse") for k in ("decreasing", "fixed")]
    for axis, (name, kind) in zip(axes, cells, strict=True):
        for number, rate in enumerate(RATES):
            mine = select(rows, schedule=kind, alpha=round(rate, 4))
            count, error = column(mine, "L"), column(mine, f"{name}_error")
            points(axis, count, np.abs(column(mine, name)), error, number, f"α = {rate:.2f}")
            line(axis, count, np.abs(column(mine, f"{name}_exact")), number)
        what = {"bias": r"|bias of $\theta^2$|", "mse": r"MSE of $\theta^2$"}[name]
        label(axis, f"SGHMC-{kind[0].upper()}, {kind} steps", "steps L", what)
    legend(figure, axes[0], 6, "exact")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
