"""Integrated autocorrelation times, from the means of segments of a window."""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from numpyro_sgmcmc.preparation.thresholds import (
    FEWEST_SEGMENTS,
    LONGEST_TIME,
    SHORT_TIME,
    TOO_SHORT,
)
from numpyro_sgmcmc.preparation.windows import Seen

TIMES = np.geomspace(1e-6, LONGEST_TIME, 500)
"""Autocorrelation times in lengths of a segment."""

SHARES = TIMES * (1 - TIMES / 2 * (1 - np.exp(-2 / TIMES)))
"""Variance of a segment's mean as a share of a draw's variance, for these times. This is exact if
the autocorrelation is exponential; for short times it is the time itself, whatever its shape."""

SLOPES = np.gradient(np.log(TIMES), np.log(SHARES))
"""Relative error of a time for a relative error of the share: 1 for short times, 1.5 at 0.5."""

BIN = 0.02
"""Width of a bin of log times: far below their standard error."""

GRID = 64
ITERATIONS = 200
"""Points of the grid on which the distribution of true times is estimated, and EM iterations."""


class Slowest(NamedTuple):
    """The slowest coordinate of a window.

    Attributes:
        time: its integrated autocorrelation time in transitions, which is exceeded with probability
            `TOO_SHORT`; the number of effective draws is that of transitions divided by it. A lower
            bound if it is not known.
        place: its index in the flat position.
        is_known: whether the window was long enough to measure the time.
    """

    time: float
    place: int
    is_known: bool


def slowest(seen: Seen) -> Slowest | None:
    """Return the slowest coordinate of a window, or None if its walkers show nothing.

    A segment of length L has a mean of variance s^2 t / L if L is long compared with the time t,
    where s^2 is the variance of a draw. `SHARES` holds this for all L. Segments of all walkers are
    pooled, and merged in pairs while they are short; the first is left out of an odd number.
    """
    means = np.asarray(seen.segments, np.float64)
    variances = np.asarray(seen.variances, np.float64)
    length = int(seen.segment_length)
    if length == 0 or not np.all(np.isfinite(means)) or not np.all(variances > 0):
        return None
    while True:
        shares = means.var(axis=(0, 1), ddof=1) / variances
        times = np.interp(shares, SHARES, TIMES)
        if times.max() <= SHORT_TIME or len(means) // 2 < FEWEST_SEGMENTS:
            break
        means = in_pairs(means)
        length *= 2
    place = int(np.argmax(shares))
    if shares[place] >= SHARES[-1]:
        return Slowest(LONGEST_TIME * length, place, False)
    # A chi-squared variable with these degrees of freedom has the relative error of the time.
    slope = np.interp(times[place], TIMES, SLOPES)
    freedom = (means.shape[0] * means.shape[1] - 1) / slope**2
    time = float(length * largest(times, freedom) * reserve(freedom))
    return Slowest(time, place, True)


def in_pairs(means: np.ndarray) -> np.ndarray:
    """Return the means over segments of twice the length, from (segments, ...)."""
    means = means[len(means) % 2 :]
    return means.reshape(len(means) // 2, 2, *means.shape[1:]).mean(1)


def reserve(freedom: float) -> float:
    """Return the ratio of a time's upper confidence limit to its estimate.

    Too long a time costs in proportion, and too short a one deceives. If X is chi-squared with n
    degrees of freedom, an estimate is the true time multiplied by X / n, and so the true time is
    below n / q times the estimate with probability 1 - p, where q is the quantile of probability p
    of X. It is taken from the cube root of X / n, which is nearly normal with mean 1 - 2 / (9 n)
    and variance 2 / (9 n) (Wilson and Hilferty 1931): to 3 % where n is 6, to 0.1 % from 30 on. The
    factor is 1.28 for 100 degrees of freedom, as two standard errors are; for 7 it is 3.2 and not
    2.1, because a small estimate is then likelier than symmetric errors would have it.
    """
    variance = 2 / (9 * freedom)
    root = 1 - variance + NormalDist().inv_cdf(TOO_SHORT) * variance**0.5
    return root**-3


def largest(times: np.ndarray, freedom: float) -> float:
    """Return the true value that belongs to the largest of some noisy times (d,).

    The largest of d estimates is biased upwards: 31 degrees of freedom and 600 equal times give
    twice the true value. Division by the expected maximum would halve the time of a single slow
    coordinate. Instead the distribution of the true times is estimated by maximum likelihood
    (Kiefer and Wolfowitz 1956, by EM on a grid), where an estimate is its true time multiplied by a
    chi-squared variable divided by its degrees of freedom. Returned is the mean of the true time,
    given the largest estimate. It is the common time of equal coordinates, and close to the
    estimate of a coordinate that stands out.
    """
    logs = np.log(times)
    bins, counts = np.unique(np.round((logs - logs.max()) / BIN), return_counts=True)
    logs, grid = logs.max() + BIN * bins, np.linspace(logs.min(), logs.max(), GRID)
    ratio = logs[:, None] - grid
    likelihood = freedom / 2 * (ratio - np.exp(ratio))
    likelihood = np.exp(likelihood - likelihood.max(1, keepdims=True))
    weights = np.full(GRID, 1 / GRID)
    for _ in range(ITERATIONS):
        joint = likelihood * weights
        weights = counts @ (joint / joint.sum(1, keepdims=True)) / counts.sum()
    joint = likelihood[-1] * weights
    return float(np.exp(grid) @ joint / joint.sum())
