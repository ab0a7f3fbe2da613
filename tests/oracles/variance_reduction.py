"""Exact distributions of Langevin dynamics with SVRG and SAGA gradients, B rows of N.

Both are linear in the walker and what it remembers, given the minibatch:

    SVRG: x = (z, a):            z <- z - h (mean_S slope (z - a) + H a) + noise, a <- z at renewals
    SAGA: x = (z, f_1, ..., f_N): f_i the position that row i was last seen at,
          z <- z - h (mean_S slope_i (z - f_i) + mean over all j of slope_j f_j) + noise,
          then f_i <- the old z for i in S

in deviations from the mode, where offsets cancel. Minibatches are enumerated.
"""

from itertools import permutations, product

import numpy as np

from tests.oracles.enumeration import Rows, affine, averaged, operator


def minibatches(size: int, batch: int, replace: bool) -> list[tuple[int, ...]]:
    """Return all ordered minibatches."""
    if replace:
        return list(product(range(size), repeat=batch))
    return list(permutations(range(size), batch))


def svrg(rows: Rows, batch: int, h: float, period: int, replace: bool = True) -> np.ndarray:
    """Return the stationary covariance of z, over all steps between renewals."""
    d = rows.offsets.shape[1]
    eye, zero = np.eye(d), np.zeros((d, d))
    maps = []
    for seen in minibatches(len(rows.slopes), batch, replace):
        slope = rows.slopes[list(seen)].mean(0)
        matrix = np.block([[eye - h * slope, h * (slope - rows.hessian)], [zero, eye]])
        maps.append(affine(matrix, np.zeros(2 * d)))
    noise = np.diag(np.append(np.full(d, 2 * h), np.zeros(d)))
    step = operator(maps, noise)
    renewal = operator(
        [affine(np.block([[eye, zero], [eye, zero]]), np.zeros(2 * d))], np.zeros((2 * d, 2 * d))
    )
    cycle = [step @ renewal] + [step] * (period - 1)
    return averaged([cycle])[1][:d, :d]


def saga(rows: Rows, batch: int, h: float, replace: bool = True) -> np.ndarray:
    """Return the stationary covariance of z."""
    n, d = rows.offsets.shape
    size = (n + 1) * d
    maps = []
    for seen in minibatches(n, batch, replace):
        # Blocks [i, j] of d x d: 0 is the walker, 1 + i the position that row i was last seen at.
        blocks = np.einsum("ij,kl->ijkl", np.eye(n + 1), np.eye(d))
        blocks[0, 1:] -= h * rows.slopes / n
        for i in seen:
            blocks[0, 0] -= h * rows.slopes[i] / batch
            blocks[0, 1 + i] += h * rows.slopes[i] / batch
        for i in set(seen):
            blocks[1 + i] = 0.0
            blocks[1 + i, 0] = np.eye(d)
        maps.append(affine(blocks.transpose(0, 2, 1, 3).reshape(size, size), np.zeros(size)))
    noise = np.diag(np.append(np.full(d, 2 * h), np.zeros(n * d)))
    return averaged([[operator(maps, noise)]])[1][:d, :d]
