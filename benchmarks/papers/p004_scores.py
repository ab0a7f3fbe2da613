"""Test negative log likelihoods of draws and of predictions, and the posterior's own.

w are signed test rows: q = sigmoid(w theta) is the chance that theta gives to the outcome seen.
"""

from typing import NamedTuple

import numpy as np

from benchmarks.papers.p004_flights import Rows

FREEDOM = 8.0
DRAWS, MOST_TERMS = 4_000, 2e8
"""Most draws of the posterior, and most evaluations of a row for them."""


class Score(NamedTuple):
    """A negative log likelihood and its standard error."""

    value: float
    error: float


def chances(w: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return q of each draw (m, d), as (m, rows)."""
    return 1 / (1 + np.exp(-theta @ w.T))


def loss(q: np.ndarray) -> np.ndarray:
    """Return the mean negative log likelihood over the rows, the last axis."""
    return -np.log(q).mean(-1)


def influence(q: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return how the loss of a mean of chances moves with each one of them, (m,)."""
    return -(q / mean).mean(-1)


class Posterior(NamedTuple):
    """The posterior's scores: of a draw, of the predictive distribution; the effective draws."""

    draw: Score
    predictive: Score
    effective: float


def posterior(rows: Rows, mode: np.ndarray, hessian: np.ndarray) -> Posterior:
    """Return the scores of the posterior of all training rows.

    Importance sampling from a multivariate t distribution about the mode; errors to first order.
    """
    rng = np.random.default_rng(11)
    count, d = int(min(DRAWS, MOST_TERMS / len(rows.x))), len(mode)
    normal = rng.normal(size=(count, d))
    heavy = normal * np.sqrt(FREEDOM / rng.chisquare(FREEDOM, (count, 1)))
    # A row vector z L^-1 has the covariance (L L')^-1 = H^-1.
    theta = mode + heavy @ np.linalg.inv(np.linalg.cholesky(hessian))
    fit = rows.x * (2 * rows.y - 1)[:, None]
    likelihood = np.concatenate(
        [-np.log1p(np.exp(-part @ fit.T)).sum(-1) for part in np.array_split(theta, count // 20)]
    )
    log_t = -(FREEDOM + d) / 2 * np.log1p((heavy**2).sum(-1) / FREEDOM)
    log_weight = likelihood - (theta**2).sum(-1) / 2 - log_t
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    q = chances(rows.signed, theta)

    def error(values: np.ndarray) -> float:
        return float(np.sqrt(np.sum((weight * (values - weight @ values)) ** 2)))

    losses, mean = loss(q), weight @ q
    return Posterior(
        Score(float(weight @ losses), error(losses)),
        Score(float(loss(mean)), error(influence(q, mean))),
        float(1 / np.sum(weight**2)),
    )
