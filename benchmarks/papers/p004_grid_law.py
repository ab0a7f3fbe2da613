"""Stationary laws of one-dimensional chains on a grid, for Brosse et al. (2018), theorems 6 and 7.

Logistic regression whose N rows are of few kinds in fixed proportions, so that everything is smooth
in N: U = theta^2 / 2 + N sum_j w_j (log(1 + e^(x_j theta)) - y_j x_j theta). A minibatch is one row
(p = 1), of kind j with probability w_j, so that a chain's transition is a mixture of normal laws.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

X = np.array([0.5, 0.5, 1.0, 1.0, 1.5, 1.5])
Y = np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0])
SHARES = np.array([20, 13, 22, 11, 24, 10]) / 100
"""Rows of each kind in a hundred."""
POINTS = 1_201
REACH = 9.0
"""Half the grid's width in standard deviations."""


class Law(NamedTuple):
    """First and second moment about the mode, exact and by the theorem's leading terms."""

    mean: float
    second: float
    leading_mean: float
    leading_second: float


def row_gradients(theta: np.ndarray) -> np.ndarray:
    """Return U_j' of each kind of row, (kinds, n)."""
    return X[:, None] * (1 / (1 + np.exp(-np.outer(X, theta))) - Y[:, None])


@cache
def mode(rows: int) -> float:
    """Return theta*, by Newton's method."""
    theta = np.zeros(1)
    for _ in range(60):
        theta = theta - (theta + rows * SHARES @ row_gradients(theta)) / derivatives(rows, theta)[0]
    return float(theta[0])


def derivatives(rows: int, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return U'' and U'''."""
    share = 1 / (1 + np.exp(-np.outer(X, theta)))
    weights = SHARES[:, None] * share * (1 - share)
    second = 1 + rows * (X[:, None] ** 2 * weights).sum(0)
    return second, rows * (X[:, None] ** 3 * weights * (1 - 2 * share)).sum(0)


def law(method: str, rows: int, eta: float) -> Law:
    """Return the moments of the posterior (eta does not matter) or of a chain at eta / N."""
    center = mode(rows)
    leading_mean, leading_second = _leading(method, rows, eta)
    scale = REACH * np.sqrt(leading_second) * 1.1
    grid = center + np.linspace(-scale, scale, POINTS)
    if method == "posterior":
        logits = np.outer(X, grid)
        potential = grid**2 / 2 + rows * SHARES @ (np.logaddexp(0, logits) - Y[:, None] * logits)
        density = np.exp(potential.min() - potential)
    else:
        density = _stationary(_transition(method, rows, eta, grid))
    density = density / density.sum()
    away = grid - center
    moments = float(density @ away), float(density @ away**2)
    return Law(*moments, leading_mean, leading_second)


def _leading(method: str, rows: int, eta: float) -> tuple[float, float]:
    """Return the leading terms of proposition 5 and theorems 6 and 7."""
    at = np.array([mode(rows)])
    second, third = (float(x[0]) for x in derivatives(rows, at))
    g = eta / rows
    share = 1 / (1 + np.exp(-X * at))
    curvatures = X**2 * share * (1 - share)
    spread = rows**2 * float(SHARES @ (curvatures - SHARES @ curvatures) ** 2)
    gradients = row_gradients(at)[:, 0]
    noise = rows**2 * float(SHARES @ (gradients - SHARES @ gradients) ** 2)
    operator, source = 2 * second, 2.0
    if method != "posterior":
        operator -= g * (second**2 + (0.0 if method == "LMC" else spread))
    if method == "SGLD":
        source += g * noise
    variance = source / operator
    return -third * variance / (2 * second), variance


def _transition(method: str, rows: int, eta: float, grid: np.ndarray) -> np.ndarray:
    """Return the density of each next point, (next, now)."""
    g = eta / rows
    drift = rows * row_gradients(grid)
    if method == "LMC":
        drift, shares = SHARES @ drift[None], np.ones(1)
    else:
        shares = SHARES
    prior = grid
    if method == "SGLDFP":
        at = np.array([mode(rows)])
        drift, prior = drift - rows * row_gradients(at), grid - at
    found = np.zeros((len(grid), len(grid)))
    for share, pull in zip(shares, drift, strict=True):
        aim = grid - g * (prior + pull)
        found += share * np.exp(-((grid[:, None] - aim) ** 2) / (4 * g))
    return found


def _stationary(transition: np.ndarray) -> np.ndarray:
    """Return the density that the transition keeps, whose columns are made to sum to one."""
    transition = transition / transition.sum(0)
    operator = np.eye(len(transition)) - transition
    operator[0] = 1.0  # one balance follows from the others; the total mass takes its place
    right = np.zeros(len(transition))
    right[0] = 1.0
    return np.linalg.solve(operator, right)
