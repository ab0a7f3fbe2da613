"""Runs that papers/003's figures share."""

from collections.abc import Sequence

import numpy as np

from benchmarks.papers.common import Finding, Row, Z, column, mean_and_error, slope
from benchmarks.papers.regression import expected_second_moment, law, random_start, runner

RUNS = 100


def length(method: str, steps: int) -> int:
    """Return the transitions of equal cost: Richardson-Romberg's are half as many, in parallel."""
    return steps // 2 if method.startswith("SGRR") else steps


def against_step_size(
    method: str, step_sizes: Sequence[float], burn_in: int, steps: int, runs: int
) -> list[Row]:
    """Return bias and MSE of the variance in one dimension, from random starts."""
    burn_in, steps = length(method, burn_in), length(method, steps)
    start = random_start(method, 1, runs)
    out = runner(method, 1)(step_sizes, start=start, burn_in=burn_in, blocks=1, length=steps)
    errors = out.mean()[..., 0] - law(1).covariance[0, 0]
    rows = []
    for h, values in zip(step_sizes, errors, strict=True):
        bias, bias_error = mean_and_error(values)
        mse, mse_error = mean_and_error(values**2)
        exact = expected_second_moment(method, h, burn_in, steps) - law(1).covariance[0, 0]
        rows.append(
            {
                "method": method,
                "step_size": float(h),
                "burn_in": burn_in,
                "steps": steps,
                "measured": float(bias),
                "error": float(bias_error),
                "exact": float(exact),
                "invariant": float((law(1).stationary(method, h) - law(1).covariance)[0, 0]),
                "mse": float(mse),
                "mse_error": float(mse_error),
            }
        )
    return rows


def order_finding(rows: list[Row], method: str, order: int) -> Finding:
    """Compare the order in h of the bias with the paper's, where it stands out of the noise."""
    mine = [row for row in rows if row["method"] == method]
    score = max(abs(r["measured"] - r["exact"]) / r["error"] for r in mine)
    settled = [r for r in mine if abs(r["exact"] - r["invariant"]) < 0.1 * abs(r["invariant"])]
    seen = [r for r in settled if abs(r["measured"]) > 5 * r["error"]]
    small = [law(1).stationary(method, h)[0, 0] - law(1).covariance[0, 0] for h in (1e-5, 1e-4)]
    limit = float(np.log10(small[1] / small[0]))
    # Only step sizes whose local slope is near the limit, if that leaves two.
    near = [r for r in seen if abs(_local_slope(method, r["step_size"]) - limit) < 0.15]
    seen = near if len(near) > 1 else seen
    text, exact, sound = "too small to be seen", f"{limit:.2f} as h -> 0", score < Z
    if len(seen) > 1:
        size, error = column(seen, "step_size"), column(seen, "error")
        measured, spread = slope(size, column(seen, "measured"), error)
        there, _ = slope(size, column(seen, "exact"), error)
        text = f"slope {measured:.2f} ± {spread:.2f} for h = {size.min():g} to {size.max():g}"
        text += f" (all points within {score:.1f} errors)"
        exact = f"{there:.2f} there, {exact}"
        sound = sound and abs(measured - there) < Z * spread
    claim = f"bias of {method} is of order {order} in h"
    return Finding(claim, text, exact, abs(limit - order) < 0.15, bool(sound))


def _local_slope(method: str, h: float) -> float:
    pair = [(law(1).stationary(method, step) - law(1).covariance)[0, 0] for step in (0.98 * h, h)]
    return float(np.log(pair[1] / pair[0]) / -np.log(0.98))
