"""When a claim holds: functions of measured numbers and their standard errors.

Each answers "holds" or "does not hold" only where `Z` standard errors leave no doubt, and "not
resolved" elsewhere. An exact number has the error 0.
"""

import numpy as np

from benchmarks.papers.finding import Verdict, Z


def decided(holds: bool | np.bool_, fails: bool | np.bool_) -> Verdict:
    """Return the verdict; `holds` and `fails` exclude each other."""
    if holds:
        return Verdict.HOLDS
    return Verdict.FAILS if fails else Verdict.OPEN


def rate(claimed: float, slower: float, slope: float, error: float) -> Verdict:
    """Judge "falls at least as fast as L^claimed" against the slower rate of another theory.

    It does not hold where the slope is flatter than claimed; it holds where it is not, and steeper
    than the slower rate.
    """
    return decided(
        slope - Z * error <= claimed and slope + Z * error < slower,
        slope - Z * error > claimed,
    )


def above(value: float, error: float, bound: float) -> Verdict:
    """Judge "value > bound"."""
    return decided(value - Z * error > bound, value + Z * error < bound)


def below(value: float, error: float, bound: float) -> Verdict:
    """Judge "value < bound"."""
    return above(-value, error, -bound)


def inside(value: float, error: float, low: float, high: float) -> Verdict:
    """Judge "low < value < high"."""
    margin = Z * error
    return decided(
        low < value - margin and value + margin < high,
        value + margin < low or value - margin > high,
    )


def order(claimed: float, slope: float, error: float) -> Verdict:
    """Judge an order by a slope on logarithmic axes, which may differ from it by one half.

    At finite step sizes a slope differs from its limit; no other integer is that near.
    """
    return inside(slope, error, claimed - 0.5, claimed + 0.5)


def tied(values: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return which values are not larger than the least by more than `Z` standard errors."""
    best = int(np.argmin(values))
    return values - values[best] <= Z * np.hypot(errors, errors[best])


def least(candidates: np.ndarray, near: np.ndarray) -> Verdict:
    """Judge "the least value is one of these", from those that are tied for it."""
    return decided(np.all(near[candidates]), not np.any(near[candidates]))


def ratio(a: float, a_error: float, b: float, b_error: float) -> tuple[float, float]:
    """Return |a / b| and its standard error, to first order, a and b independent."""
    value = abs(a / b)
    return value, value * float(np.hypot(a_error / a, b_error / b))
