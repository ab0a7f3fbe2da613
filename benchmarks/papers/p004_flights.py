"""Late flights in place of Covertype: rows to fit and rows to predict."""

from functools import cache
from typing import NamedTuple

import numpy as np

TEST = 5_000
CARRIERS = 8


class Rows(NamedTuple):
    """Rows to fit, (N, d) and (N,), and others to predict."""

    x: np.ndarray
    y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray

    @property
    def signed(self) -> np.ndarray:
        """Return rows w: the outcome seen in a test row has the chance sigmoid(w theta)."""
        return self.test_x * (2 * self.test_y - 1)[:, None]


@cache
def flights(size: int) -> Rows:
    """Return the first rows of a fixed order, and the last ones to predict."""
    x, y = _flights()
    return Rows(x[:size], y[:size], x[-TEST:], y[-TEST:])


@cache
def _flights() -> tuple[np.ndarray, np.ndarray]:
    """Return all flights in random order.

    Columns: 1, scheduled hour, distance and month (standardised), two of the three airports and the
    second to the ninth carrier by size. The largest carrier and the small ones are the base.
    """
    from examples import data

    table = data.flights()
    large = np.argsort(-np.bincount(table.carrier))[1 : 1 + CARRIERS]
    columns = (
        np.ones((len(table.late), 1)),
        table.features,
        table.origin[:, None] == np.arange(1, len(table.origin_names)),
        table.carrier[:, None] == large,
    )
    order = np.random.default_rng(7).permutation(len(table.late))
    return np.concatenate(columns, axis=1, dtype=np.float64)[order], table.late[order].astype(float)
