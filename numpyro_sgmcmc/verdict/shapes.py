"""Shapes of distributions that gradients cannot check: heavy tails and several modes."""

import numpy as np

from numpyro_sgmcmc.verdict.batches import Batches
from numpyro_sgmcmc.verdict.columns import by_columns

SHARE = 0.01
LEAST = 20
"""The largest draws that a tail is read from: this share of all, and at least so many."""

BINS = 16
"""Bins of a histogram from the quantile 0.005 to 0.995. Of 400 effective draws a bin holds 25."""

DEEP = 1.0
"""Standard errors by which a bin must be below others on both sides to be a valley. Chance makes
one in 3 % of Gaussian samples of 4,000 draws, and in 17 % of those of a Gamma variable of shape
0.6; a second mode of a tenth of the probability, 4 standard deviations away, is missed in 5 %."""


def bimodality(draws: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return (skewness^2 + 1) / kurtosis of each column of draws (n, d), with weights of sum 1."""

    def of(draws: np.ndarray) -> tuple[np.ndarray]:
        x = draws - weights @ draws
        square = x * x
        variance = weights @ square
        with np.errstate(divide="ignore", invalid="ignore"):
            skewness = weights @ (square * x) / variance**1.5
            return ((skewness**2 + 1) / (weights @ (square * square) / variance**2),)

    return by_columns(of, draws)[0]


def has_valley(draws: np.ndarray, batches: Batches) -> bool:
    """Return whether the histogram of draws (n,) has a valley between two hills.

    A skewed density with one mode may have a larger bimodality coefficient than one with two: that
    of log s has, where data allow a scale s = 0. Its histogram has no valley.
    """
    low, high = np.quantile(draws, [0.005, 0.995])
    edges = np.linspace(low, high, BINS + 1)
    places = np.searchsorted(edges, draws, side="right") - 1
    means = batches.means((places[:, None] == np.arange(BINS)).astype(np.float64))
    shares, error = batches.mass @ means, batches.standard_error(means)
    left, right = (_highest_before(x) for x in (shares, shares[::-1]))
    lower = np.where(shares[left] < shares[BINS - 1 - right[::-1]], left, BINS - 1 - right[::-1])
    depth = shares[lower] - shares
    return bool(np.any(depth > DEEP * np.hypot(error[lower], error)))


def _highest_before(shares: np.ndarray) -> np.ndarray:
    """Return the place of the largest entry up to each place."""
    return np.array([int(np.argmax(shares[: k + 1])) for k in range(len(shares))])


def tail_indices(draws: np.ndarray) -> np.ndarray:
    """Return Hill's estimate of the tail index of each column of draws (n, d) about their median.

    A density that falls as |x|^-(1 + 1 / k) has index k, and no variance from k = 1/2 on; a
    Gaussian's estimate is near 0.1, an exponential's near 0.2 (Hill 1975, Annals of Statistics 3).
    NaN with too few draws.
    """
    count = max(int(SHARE * len(draws)), LEAST)
    if len(draws) < 4 * LEAST:
        return np.full(draws.shape[1], np.nan)

    def of(draws: np.ndarray) -> tuple[np.ndarray]:
        # NumPy sorts twice as fast as it selects, and rows faster than columns.
        x = np.sort(np.ascontiguousarray(draws.T))
        middle = x[:, [(len(draws) - 1) // 2, len(draws) // 2]].mean(1, keepdims=True)
        ends = np.abs(np.concatenate([x[:, : count + 1], x[:, -count - 1 :]], axis=1) - middle)
        largest = np.sort(ends)[:, -count - 1 :]
        with np.errstate(divide="ignore", invalid="ignore"):
            return (np.mean(np.log(largest[:, 1:] / largest[:, :1]), axis=1),)

    return by_columns(of, draws)[0]
