"""The test scores that stationarity demands of a chain: exact, without remainder.

Write d = z - mode and g = grad U(z). Where a chain is stationary E g = 0, and E d d' solves the
equation of `logistic.Local.balance`. A function's terms of first and second order about the mode
have exact means therefore; what is left of it is taken from the draws.
"""

from typing import NamedTuple

import numpy as np

from benchmarks.papers import logistic
from benchmarks.papers.p004_flights import Rows
from benchmarks.papers.p004_scores import chances


class Excess(NamedTuple):
    """What has the mean zero in each chain: H^-1 g, (c, d), and d d' less what is demanded."""

    first: np.ndarray
    second: np.ndarray

    def of_losses(self, w: np.ndarray, mode: np.ndarray) -> np.ndarray:
        """Return the part of a draw's loss that has the mean zero, (c,)."""
        q = chances(w, mode)
        gradient = -(1 - q) @ w / len(w)
        curvature = (w.T * (q * (1 - q))) @ w / len(w)
        return self.first @ gradient + np.einsum("ij,cij->c", curvature, self.second) / 2

    def of_chances(self, w: np.ndarray, mode: np.ndarray) -> np.ndarray:
        """Return the part of the chances that has the mean zero, (c, rows)."""
        q = chances(w, mode)
        slope = q * (1 - q)
        squares = np.array([np.einsum("ri,ri->r", w @ part, w) for part in self.second])
        return slope * (self.first @ w.T) + slope * (1 - 2 * q) * squares / 2


def excess(
    rows: Rows,
    hessian: np.ndarray,
    mode: np.ndarray,
    positions: np.ndarray,
    anchored: bool,
    temperature: float,
) -> Excess:
    """Return the excess of positions (chains, draws, d) of a run with the step size 1 / N."""
    chains, draws, width = positions.shape
    h, flat = 1 / len(rows.x), positions.reshape(-1, width)
    pull = logistic.gradient(rows.x, rows.y, flat)
    noise = logistic.gradient_noise(rows.x, rows.y, flat, mode if anchored else None)
    away = flat - mode
    source = logistic.source(hessian, h, away, pull, noise, temperature)
    mean = source.reshape(chains, draws, width, width).mean(1)
    # In H's eigenvectors the equation is one number for each pair.
    values, vectors = np.linalg.eigh(hessian)
    pairs = values[:, None] + values - h * np.outer(values, values)
    demanded = vectors @ ((vectors.T @ mean @ vectors) / pairs) @ vectors.T
    square = np.einsum("mi,mj->mij", away, away).reshape(chains, draws, width, width).mean(1)
    first = np.linalg.solve(hessian, pull.T).T.reshape(chains, draws, width).mean(1)
    return Excess(first, square - demanded)
