"""Chains that sit in different modes."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from numpyro_sgmcmc.verdict.batches import student_quantile
from numpyro_sgmcmc.verdict.columns import by_columns
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
    if chains < 2 or length < 2 * BATCHES:
        return None
    own, within = by_columns(_moments, draws)
    known = np.flatnonzero(np.isfinite(own).all(0) & np.isfinite(within) & (within > 0))
    if not known.size:
        return None
    at = known[np.argmax(np.ptp(own[:, known], axis=0) / within[known])]
    distance = float(np.ptp(own[:, at]) / within[at])
    each = length // BATCHES
    means = draws[:, -each * BATCHES :, at].reshape(chains, BATCHES, each).mean(2, dtype=np.float64)
    halves = means.reshape(chains, 2, BATCHES // 2)
    errors = halves.std(2, ddof=1) / np.sqrt(BATCHES // 2)
    drift = np.abs(np.diff(halves.mean(2), axis=1))[:, 0]
    stays = np.all(drift <= _quantile(chains) * np.hypot(errors[:, 0], errors[:, 1]))
    ends = [np.argmin(own[:, at]), np.argmax(own[:, at])]
    error = np.hypot(*means[ends].std(1, ddof=1)) / np.sqrt(BATCHES)
    pairs = chains * (chains - 1) // 2
    is_apart = np.ptp(own[:, at]) > _quantile(dimension * pairs) * error
    if distance > DIFFERENT_MODES and stays and is_apart:
        return Apart(site_of(at), distance)
    return None


def _moments(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each chain's means, (chains, k), and the standard deviations of a chain, (k,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        variances = draws.var(1, dtype=np.float64)
        return draws.mean(1, dtype=np.float64), np.sqrt(variances.mean(0))


def _quantile(comparisons: int) -> float:
    """Return what a difference in its errors exceeds by chance, among so many, seldom enough."""
    return student_quantile(1 - FALSE_ALARMS / (2 * comparisons), BATCHES - 2)
