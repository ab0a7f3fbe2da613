"""Exact stationary moments of affine recursions with finitely many random maps, by enumeration.

A step takes x to A_s x + b_s + noise of covariance Q, with s one of finitely many equally likely
choices (minibatches, say). With x~ = (x, 1) the second moment E[x~ x~'] evolves linearly:

    S -> mean over s of A~_s S A~_s' + Q S_11,        A~_s = [[A_s, b_s], [0, 1]].

As a matrix on vec(S) that is an `operator`; steps in a row are products, random orders are means of
products, and the stationary distribution is the eigenvector of eigenvalue 1.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tests.oracles.recursion import Recursion


class Rows(NamedTuple):
    """A linear-Gaussian model: row i's gradient is slopes[i] (z - mode) + offsets[i]."""

    slopes: np.ndarray
    offsets: np.ndarray

    @property
    def hessian(self) -> np.ndarray:
        """Hessian of the whole data's potential, (d, d)."""
        return self.slopes.mean(0)


def rows_of(posterior) -> Rows:
    """Return the gradients g_i = prior + N log likelihoods of a posterior."""
    n, d = posterior.row_offsets.shape
    slopes = np.eye(d) + n * posterior.row_hessians
    return Rows(slopes, slopes @ posterior.mode - n * posterior.row_offsets)


def operator(maps: Sequence[np.ndarray], noise: np.ndarray) -> np.ndarray:
    """Return the matrix on vec(S) of a step with these equally likely maps A~ and noise Q."""
    n = len(maps[0])
    total = sum(np.kron(a, a) for a in maps) / len(maps)
    padded = np.zeros((n, n))
    padded[:-1, :-1] = noise
    total[:, -1] += padded.ravel()
    return total


def affine(matrix: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return A~ of x -> matrix x + offset."""
    n = len(matrix)
    return np.block([[matrix, np.reshape(offset, (n, 1))], [np.zeros((1, n)), np.ones((1, 1))]])


def stationary(cycle: np.ndarray) -> np.ndarray:
    """Return vec(S) with S_11 = 1 that a cycle's operator keeps."""
    n = len(cycle)
    last = np.zeros(n)
    last[-1] = 1.0
    system = np.eye(n) - cycle + np.outer(last, last)
    return np.linalg.solve(system, last)


def moments(vec: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of x."""
    n = round(len(vec) ** 0.5)
    second = vec.reshape(n, n)
    mean = second[:-1, -1]
    return mean, second[:-1, :-1] - np.outer(mean, mean)


def averaged(cycles: Sequence[Sequence[np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance over all steps of equally likely cycles of operators."""
    ends, sums = [], []
    for steps in cycles:
        product, total = np.eye(len(steps[0])), np.zeros_like(steps[0])
        for step in steps:
            product = step @ product
            total = total + product
        ends.append(product)
        sums.append(total / len(steps))
    start = stationary(sum(ends) / len(ends))
    return moments(sum(sums) @ start / len(sums))


def block_step(recursion: Recursion, rows: Rows, block: Sequence[int], h: float) -> np.ndarray:
    """Return the operator of a step that sees these rows."""
    slope, offset = rows.slopes[list(block)].mean(0), rows.offsets[list(block)].mean(0)
    matrix = recursion.free + recursion.kick @ slope @ recursion.look
    noise = h * recursion.heat @ recursion.heat.T
    return operator([affine(matrix, recursion.kick @ offset)], noise)
