"""Shapes of distributions that gradients cannot check: heavy tails and several modes."""

import numpy as np

from numpyro_sgmcmc.verdict.columns import by_columns

SHARE = 0.01
LEAST = 20
"""The largest draws that a tail is read from: this share of all, and at least so many."""


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
        sizes = np.abs(draws - np.median(draws, axis=0))
        largest = np.sort(np.partition(sizes, -count - 1, axis=0)[-count - 1 :], axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return (np.mean(np.log(largest[1:] / largest[0]), axis=0),)

    return by_columns(of, draws)[0]
