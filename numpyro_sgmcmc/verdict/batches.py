"""Standard errors of averages over correlated draws, by batch means."""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from numpyro_sgmcmc.verdict.thresholds import BATCHES, STANDARD_ERRORS


class Batches(NamedTuple):
    """Stretches of consecutive draws, which are nearly independent of each other.

    Attributes:
        weights: shares of the draws, flattened chain by chain, with sum 1, (draws in all,).
        label: the batch of each draw, likewise.
        mass: each batch's share of all weight, (batches,).
    """

    weights: np.ndarray
    label: np.ndarray
    mass: np.ndarray

    def means(self, series: np.ndarray, places: np.ndarray | None = None) -> np.ndarray:
        """Return the batches' means (batches, d) of draws (n, d), or of those at some places."""
        label = self.label if places is None else self.label[places]
        weights = self.weights if places is None else self.weights[places]
        # Sums of stretches: a product with a matrix of all batches costs as many times more.
        starts = np.flatnonzero(np.diff(label, prepend=-1))
        sums = np.add.reduceat(weights[:, None] * series, starts)
        result = np.zeros((len(self.mass), series.shape[1]), sums.dtype)
        np.add.at(result, label[starts], sums)
        total = np.bincount(label, weights, len(self.mass))[:, None]
        # A batch that holds none of the places takes part with the mean, which is 0.
        return result / np.where(total > 0, total, 1.0)

    def standard_error(self, means: np.ndarray) -> np.ndarray:
        """Return the standard error (d,) of the weighted average of batches' means."""
        count = len(self.mass)
        centred = self.mass[:, None] * (means - self.mass @ means)
        return np.sqrt(count / (count - 1) * np.sum(centred**2, axis=0))

    @property
    def beyond(self) -> float:
        """How far out in Student's t is what STANDARD_ERRORS are in the normal distribution."""
        return self.standard_errors_for(2 * (1 - NormalDist().cdf(STANDARD_ERRORS)))

    def standard_errors_for(self, probability: float) -> float:
        """Return how many standard errors an average exceeds with this probability, either way."""
        return student_quantile(1 - probability / 2, len(self.mass) - 1)


def batches_of(weights: np.ndarray, is_together: bool) -> Batches:
    """Return batches of draws with weights (chains, draws), flattened chain by chain.

    Chains that go together, on shared minibatches, are batched by time: what they have in common
    then is within a batch.
    """
    chains, draws = weights.shape
    groups = 1 if is_together else chains
    each = max(min(BATCHES // groups, draws // 2), 1 if groups > 1 else 2)
    of_draw = np.minimum(np.arange(draws) * each // draws, each - 1)
    first = np.zeros(chains, int) if is_together else np.arange(chains) * each
    label = (first[:, None] + of_draw).reshape(-1)
    flat = weights.reshape(-1) / weights.sum()
    return Batches(flat, label, np.bincount(label, flat, groups * each))


def student_quantile(probability: float, degrees: int) -> float:
    """Return a quantile of Student's t by its expansion about the normal one.

    Abramowitz and Stegun (1964), 26.7.5.
    """
    z = NormalDist().inv_cdf(probability)
    n = float(degrees)
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
    )
