"""Kernel Stein discrepancy of draws from a density whose gradients are known."""

import numpy as np

BOOTSTRAPS = 500


def stein_gram(y: np.ndarray, score: np.ndarray, scale: float) -> np.ndarray:
    """Return the Stein kernel of all pairs, (n, n), for the inverse multiquadric base kernel.

    With k(x, y) = (c^2 + |x - y|^2)^(-1/2), q = c^2 + |x - y|^2 and s the score -grad U,

        k0 = s_x . s_y k + (s_x - s_y) . (x - y) q^(-3/2) + d q^(-3/2) - 3 |x - y|^2 q^(-5/2),

    whose mean is zero in each argument under the density (Gorham and Mackey 2017).

    Args:
        y: draws, (n, d), best whitened.
        score: -grad U there, (n, d), in the same coordinates.
        scale: c, of the order of the distance between draws.
    """
    squares = np.sum(y**2, axis=1)
    gap = np.maximum(squares[:, None] + squares[None] - 2 * y @ y.T, 0.0)
    q = scale**2 + gap
    cross = score @ y.T  # s_x . y
    own = np.sum(score * y, axis=1)
    along = own[:, None] - cross - cross.T + own[None]
    trace = y.shape[1] * q**-1.5 - 3 * gap * q**-2.5
    return score @ score.T * q**-0.5 + along * q**-1.5 + trace


def discrepancy(y: np.ndarray, score: np.ndarray) -> tuple[float, float]:
    """Return the discrepancy, sqrt(V-statistic), and its p-value by the wild bootstrap.

    The draws should be thinned until nearly independent: the bootstrap's signs are.
    """
    n, d = y.shape
    gram = stein_gram(y, score, float(np.sqrt(d)))
    statistic = gram.sum() / n**2
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (BOOTSTRAPS, n))
    null = np.einsum("bi,ij,bj->b", signs, gram, signs, optimize=True) / n**2
    return float(np.sqrt(max(statistic, 0.0))), float(np.mean(null >= statistic))
