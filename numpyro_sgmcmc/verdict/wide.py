"""A covariance of many coordinates at O(d): scales, and a matrix for a few directions."""

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np

from numpyro_sgmcmc.subspace import Group

ROWS = 256
"""Positions that are worked on at once."""


class WideCovariance(NamedTuple):
    """C = diag(outer) (I + P (M - I) P') diag(outer), with the directions of a `Subspace`.

    Attributes:
        groups: of the coordinates.
        outer: (d,).
        weights: the only entry of each row of P that may differ from 0, (d,).
        matrix: M, (r, r).
    """

    groups: tuple[Group, ...]
    outer: np.ndarray
    weights: np.ndarray
    matrix: np.ndarray

    @classmethod
    def of(
        cls, groups: tuple[Group, ...], draws: np.ndarray, scale: np.ndarray, weights: np.ndarray
    ) -> Self:
        """Return the covariance of draws (n, d) about their mean, with weights (n,) of sum 1.

        Args:
            groups: of the coordinates.
            draws: about their mean.
            scale: their standard deviations, (d,).
            weights: of the draws.
        """
        length = np.sqrt(_sums(groups, 1 / scale[None] ** 2))
        directions = _spread(groups, 1 / length)[0] / scale
        size = directions_of(groups)
        inside, outside = np.zeros((size, size)), np.zeros_like(scale)
        for at in _blocks(len(draws)):
            y = draws[at] / scale
            c = _sums(groups, directions * y)
            inside += (c * weights[at, None]).T @ c
            outside += weights[at] @ (y - directions * _spread(groups, c)) ** 2
        # Chains that hardly move span few directions, and rounding leaves eigenvalues below 0.
        lift = 1e-6 + 2 * max(0.0, -np.linalg.eigvalsh(inside)[0])
        inside += lift * np.eye(size)
        share = _outside(groups, directions)
        rest = np.where(share > 0, outside / np.where(share > 0, share, 1.0), 1.0)
        # Scales of coordinates also multiply the directions, which they should not.
        mean = np.sqrt(_sums(groups, (directions**2 * rest)[None])[0])
        return cls(groups, scale * np.sqrt(rest), directions, inside / np.outer(mean, mean))

    def diagonal(self) -> np.ndarray:
        """Return the variances, (d,)."""
        within = self.weights**2 * _spread(self.groups, np.diag(self.matrix)[None])[0]
        return self.outer**2 * (_outside(self.groups, self.weights) + within)

    def product(self, rows: np.ndarray) -> np.ndarray:
        """Return C y for each of the rows y, (n, d)."""
        change, found = self.matrix - np.eye(len(self.matrix)), np.empty(rows.shape)
        for at in _blocks(len(rows)):
            y = self.outer * rows[at]
            c = _sums(self.groups, self.weights * y) @ change
            found[at] = self.outer * (y + self.weights * _spread(self.groups, c))
        return found


def directions_of(groups: tuple[Group, ...]) -> int:
    """Return the number of directions."""
    return sum(group.directions for group in groups)


def _outside(groups: tuple[Group, ...], weights: np.ndarray) -> np.ndarray:
    """Return the diagonal of I - P P', (d,)."""
    alone = np.concatenate([np.full(g.size, g.size == g.directions) for g in groups])
    return np.where(alone, 0.0, 1.0 - weights**2)


def _sums(groups: tuple[Group, ...], y: np.ndarray) -> np.ndarray:
    """Return the sums of each array's columns, (n, d) to (n, r)."""
    parts, start = [], 0
    for size, directions in groups:
        if directions:
            array = y[:, start : start + size].reshape(len(y), -1, directions)
            parts.append(array.sum(1))
        start += size
    return np.concatenate(parts, axis=1)


def _spread(groups: tuple[Group, ...], c: np.ndarray) -> np.ndarray:
    """Return an entry of c for each row of its array, (n, r) to (n, d)."""
    parts, start = [], 0
    for size, directions in groups:
        parts.append(
            np.tile(c[:, start : start + directions], size // directions)
            if directions
            else np.zeros((len(c), size))
        )
        start += directions
    return np.concatenate(parts, axis=1)


def _blocks(count: int) -> Iterator[slice]:
    return (slice(low, min(low + ROWS, count)) for low in range(0, count, ROWS))
