"""Chains that sit in different modes."""

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.stats import t as student

from numpyro_sgmcmc.verdict.thresholds import BATCHES, DIFFERENT_MODES, FALSE_ALARMS


class Apart(NamedTuple):
    """Two chains that stay where they are, apart from each other.

    Attributes:
        site: where they differ most.
        distance: of their means, in standard deviations of a chain.
    """

    site: str
    distance: float


def chains_apart(draws: np.ndarray, site_of: Callable[[int], str]) -> Apart | None:
    """Return where chains differ most, if each of them stays there; else None.

    The means of two chains differ by more than `DIFFERENT_MODES` standard deviations of a chain and
    by more than their Monte Carlo errors, and the halves of each chain do not differ by more than
    theirs. Errors are those of means of batches, and are too small where chains are slow within a
    batch. Their halves then seem to differ, and chains count as too short.

    Args:
        draws: (chains, draws, d).
        site_of: the name of the site of a coordinate.
    """
    chains, length, dimension = draws.shape
    if chains < 2 or length < 2 * BATCHES or not np.isfinite(draws).all():
        return None
    each = length // BATCHES
    batches = draws[:, -each * BATCHES :].reshape(chains, BATCHES, each, dimension)
    means = batches.mean(2, dtype=np.float64)
    own = draws.mean(1, dtype=np.float64)
    within = np.sqrt(draws.var(1, dtype=np.float64).mean(0))
    at = int(np.argmax(np.ptp(own, axis=0) / np.where(within > 0, within, np.inf)))
    distance = float(np.ptp(own[:, at]) / within[at]) if within[at] > 0 else 0.0
    halves = means[..., at].reshape(chains, 2, BATCHES // 2)
    error = halves.std(2, ddof=1) / np.sqrt(BATCHES // 2)
    drift = np.abs(np.diff(halves.mean(2), axis=1))[:, 0] / np.hypot(error[:, 0], error[:, 1])
    first, last = np.argmin(own[:, at]), np.argmax(own[:, at])
    of_means = np.hypot(*means[[first, last], :, at].std(1, ddof=1)) / np.sqrt(BATCHES)
    pairs = len(list(combinations(range(chains), 2)))
    stays = np.all(drift < _quantile(chains))
    is_apart = np.ptp(own[:, at]) > _quantile(dimension * pairs) * of_means
    if distance > DIFFERENT_MODES and stays and is_apart:
        return Apart(site_of(at), distance)
    return None


def _quantile(comparisons: int) -> float:
    """Return what a difference in its errors exceeds by chance, among so many, seldom enough."""
    return float(student.isf(FALSE_ALARMS / (2 * comparisons), BATCHES - 2))
