"""Comparing draws of independent chains with an exact mean and covariance."""

import numpy as np

Z = 4.0
"""Largest standardised deviation: P(|t| > 4) = 7.5e-5 a comparison, with 400 chains or more."""


def assert_moments(draws: np.ndarray, mean: np.ndarray, covariance: np.ndarray, z: float = Z):
    """Check first moments and second moments about `mean` of draws (chains, draws, k).

    The estimate is the average of chain-wise averages, its standard error their standard deviation
    over the root of the number of chains: chains are independent, whatever happens inside one.
    k + k (k + 1) / 2 comparisons.
    """
    assert np.isfinite(draws).all()
    centred = np.asarray(draws, np.float64) - mean
    upper = np.triu_indices(len(mean))
    products = np.einsum("cni,cnj->cij", centred, centred) / centred.shape[1]
    by_chain = np.concatenate([centred.mean(1), products[:, *upper]], axis=1)
    expected = np.concatenate([np.zeros(len(mean)), covariance[upper]])
    assert_averages(by_chain, expected, z)


def assert_averages(by_chain: np.ndarray, expected: np.ndarray, z: float = Z):
    """Check averages over independent chains (chains, m) against exact values (m,)."""
    error = by_chain.std(0, ddof=1) / np.sqrt(len(by_chain))
    deviation = by_chain.mean(0) - expected
    score = deviation / np.maximum(error, 1e-6 * np.abs(expected) + 1e-12)
    assert (np.abs(score) < z).all(), (
        f"expected {expected}, got {by_chain.mean(0)}: {np.round(score, 1)} standard errors"
    )
