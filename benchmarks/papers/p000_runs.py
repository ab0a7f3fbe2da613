"""The runs behind figure 2 of Chen, Ding and Carin (2015): SGHMC with splitting, by rate alpha.

Fixed steps h = 0.033 L^-alpha (SGHMC-F); decreasing ones h_l = 0.045 l^-alpha with averages
weighted by step size (SGHMC-D). Random starts; the prefactors are the paper's.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.papers.common import Row, mean_and_error
from benchmarks.papers.finite_time import exact_errors
from benchmarks.papers.gaussian import (
    BATCH,
    RECURSIONS,
    UNIT,
    error_of_square,
    random_start,
    runner,
)

FRICTION = 30.0
FIXED, DECREASING = 0.033, 0.045
RATES = (0.1, 0.2, 1 / 3, 0.5, 0.7)
LENGTHS = (100, 1_000, 10_000)
BLOCKS = 10
CHAINS = 400


def build(h: float) -> Any:
    """Return the splitting integrator's matrices."""
    return RECURSIONS["splitting"](h, UNIT, FRICTION)


def measure(quick: bool = False) -> list[Row]:
    """Return bias and MSE for each schedule, rate and number of steps."""
    rates = (0.2, 1 / 3) if quick else RATES
    lengths = (300, 1_000) if quick else LENGTHS
    rows = []
    for length in lengths:
        rows += fixed(rates, length, BATCH)
        if length == max(lengths):
            rows += decreasing(rates, length)
    return rows if quick else rows + measure_smooth()


def measure_smooth() -> list[Row]:
    """Return the rows of fixed steps with exact gradients, at the paper's best rates."""
    return [row for length in LENGTHS[1:] for row in fixed((0.2, 1 / 3), length, None)]


def fixed(rates: Sequence[float], length: int, batch: int | None) -> list[Row]:
    sizes = [FIXED * length**-rate for rate in rates]
    out = error_of_square(_run(batch, length)(sizes).running())[:, :, -1:]
    rows = []
    for alpha, h, errors in zip(rates, sizes, out, strict=True):
        steps = np.full(length, np.float64(np.float32(h)))
        rows += _rows("fixed", alpha, errors, steps, [length], batch)
    return rows


def decreasing(rates: Sequence[float], length: int) -> list[Row]:
    first = [DECREASING] * len(rates)
    out = error_of_square(_run(BATCH, length)(first, exponents=rates, seed=1).running())
    wanted = length // BLOCKS * np.arange(1, BLOCKS + 1)
    rows = []
    for alpha, errors in zip(rates, out, strict=True):
        steps = DECREASING * np.arange(1, length + 1) ** -alpha
        rows += _rows("decreasing", alpha, errors, steps, wanted, BATCH)
    return rows


def _run(batch: int | None, length: int) -> Any:
    options = {"burn_in": 0, "blocks": BLOCKS, "length": length // BLOCKS}
    return partial(runner("splitting", FRICTION, batch), start=random_start(CHAINS), **options)


def _rows(
    kind: str,
    alpha: float,
    errors: np.ndarray,
    steps: np.ndarray,
    wanted: Any,
    batch: int | None,
) -> list[Row]:
    """Return a row for each number of steps, from the chains' errors (chains, len(wanted))."""
    bias, bias_error = mean_and_error(errors)
    mse, mse_error = mean_and_error(errors**2)
    exact = exact_errors(build, steps, batch, wanted)
    return [
        {
            "schedule": kind,
            "batch": batch or 0,
            "alpha": round(alpha, 4),
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
