"""Runs that the figures of Durmus et al. (2016) share."""

from collections.abc import Sequence

import numpy as np

from benchmarks.papers.common import Row, mean_and_error, worst_score
from benchmarks.papers.finding import Finding
from benchmarks.papers.orders import order_finding
from benchmarks.papers.regression import (
    BATCH,
    expected_second_moment,
    posterior,
    random_start,
    runner,
)

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
    errors = out.mean()[..., 0] - posterior(1).covariance[0, 0]
    rows, post = [], posterior(1)
    for h, values in zip(step_sizes, errors, strict=True):
        bias, bias_error = mean_and_error(values)
        mse, mse_error = mean_and_error(values**2)
        exact = expected_second_moment(method, h, burn_in, steps) - posterior(1).covariance[0, 0]
        rows.append(
            {
                "method": method,
                "step_size": float(h),
                "burn_in": burn_in,
                "steps": steps,
                "measured": float(bias),
                "error": float(bias_error),
                "exact": float(exact),
                "invariant": float((post.stationary(method, h) - post.covariance)[0, 0]),
                "mse": float(mse),
                "mse_error": float(mse_error),
            }
        )
    return rows


def bias_order(rows: list[Row], method: str, claimed: int) -> Finding:
    """Compare the order in h of the bias with the paper's.

    Only step sizes at which the run has forgotten its start say anything of the order.
    """
    mine = [row for row in rows if row["method"] == method]
    start = [abs(r["exact"] - r["invariant"]) for r in mine]
    settled = [r for r, s in zip(mine, start, strict=True) if s < 0.1 * abs(r["invariant"])]
    limit = local_slope(method, 1e-5, 10.0)
    claim = f"bias of {method} is of order {claimed} in h"
    found = order_finding(
        claim,
        claimed,
        settled,
        limit,
        lambda row: local_slope(method, 0.98 * row["step_size"], 1 / 0.98),
    )
    return found._replace(score=max(worst_score(mine), found.score or 0.0))


def local_slope(method: str, h: float, factor: float) -> float:
    """Return the exact slope of log |bias| on log h, between h and its multiple."""
    post = posterior(1)
    low, high = (post.stationary(method, s) - post.covariance for s in (h, factor * h))
    return float(np.log(high[0, 0] / low[0, 0]) / np.log(factor))


def mse_score(rows: Sequence[Row]) -> float:
    """Return the largest deviation of a mean squared error from what it must be, in its errors.

    That is the square of the exact bias and the variance between the runs.
    """
    expected = [r["exact"] ** 2 + (RUNS - 1) * r["error"] ** 2 for r in rows]
    pairs = zip(rows, expected, strict=True)
    return float(np.max([abs(r["mse"] - value) / r["mse_error"] for r, value in pairs]))


def methods_setting() -> str:
    """Return how these figures differ from the paper's."""
    return (
        f"{RUNS} runs from N(0, I), the paper's random starts not being given; minibatches of"
        f" {BATCH} rows drawn without replacement, as in the paper; variances about the exact mean"
    )
