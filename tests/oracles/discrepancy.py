"""Expected kernel Stein discrepancy of a stationary Gaussian chain in one dimension.

The target is N(0, 1) and the chain x_t = rho x_(t-1) + ..., x_t ~ N(0, v). Two draws j steps apart
are normal with correlation rho^j, and the V-statistic's expectation is the mean over pairs of

    f(r) = E[x y q^(-1/2) + (1 - (x - y)^2) q^(-3/2) - 3 (x - y)^2 q^(-5/2)],  q = 1 + (x - y)^2,

by Gauss and Hermite's quadrature.
"""

import numpy as np

POINTS, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def pair(variance: float, correlation: float) -> float:
    """Return f: the Stein kernel's mean over two draws of this correlation."""
    x = np.sqrt(variance) * POINTS[:, None]
    y = correlation * x + np.sqrt(variance * (1 - correlation**2)) * POINTS
    squared = (x - y) ** 2
    q = 1 + squared
    kernel = x * y * q**-0.5 + (1 - squared) * q**-1.5 - 3 * squared * q**-2.5
    return WEIGHTS @ kernel @ WEIGHTS


def expected(variance: float, correlation: float, count: int) -> float:
    """Return the expected V-statistic of `count` draws, `correlation` that of neighbours."""
    lags = np.arange(1, count)
    grid = np.linspace(0.0, 1.0, 101)
    values = np.interp(correlation**lags, grid, [pair(variance, r) for r in grid])
    return (2 * (count - lags) @ values + count * pair(variance, 1.0)) / count**2
