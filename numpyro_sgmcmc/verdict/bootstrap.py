"""Whether a Stein discrepancy is more than chance."""

import numpy as np

from numpyro_sgmcmc.stein import stein_gram

BOOTSTRAPS = 500


def discrepancy(draws: np.ndarray, gradients: np.ndarray) -> tuple[float, float]:
    """Return the discrepancy, sqrt(V-statistic), and its p-value by the wild bootstrap.

    The draws, whitened, should be thinned until nearly independent: the bootstrap's signs are.

    Args:
        draws: (n, d).
        gradients: of U at the draws, (n, d), in the same coordinates.
    """
    n, d = draws.shape
    gram = stein_gram(draws, gradients, scale=float(np.sqrt(d)))
    statistic = gram.sum() / n**2
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (BOOTSTRAPS, n))
    null = np.einsum("bi,ij,bj->b", signs, gram, signs, optimize=True) / n**2
    return float(np.sqrt(max(statistic, 0.0))), float(np.mean(null >= statistic))
