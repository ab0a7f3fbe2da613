"""Exact laws of Langevin dynamics with SVRG and SAGA gradients, one parameter, B rows of N.

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


def svrg(rows: Rows, batch: int, h: float, period: int, replace: bool = True) -> float:
    """Return the stationary variance of z, over all steps between renewals."""
    maps = []
    for seen in minibatches(len(rows.slopes), batch, replace):
        slope = rows.slopes[list(seen)].mean()
        maps.append(affine(np.array([[1 - h * slope, h * (slope - rows.hessian)], [0, 1]]), [0, 0]))
    step = operator(maps, np.diag([2 * h, 0.0]))
    renewal = operator([affine(np.array([[1.0, 0.0], [1.0, 0.0]]), [0, 0])], np.zeros((2, 2)))
    cycle = [step @ renewal] + [step] * (period - 1)
    return averaged([cycle])[1][0, 0]


def saga(rows: Rows, batch: int, h: float, replace: bool = True) -> float:
    """Return the stationary variance of z."""
    n = len(rows.slopes)
    maps = []
    for seen in minibatches(n, batch, replace):
        matrix = np.eye(n + 1)
        matrix[0, 1:] -= h * rows.slopes / n
        for i in seen:
            matrix[0, 0] -= h * rows.slopes[i] / batch
            matrix[0, 1 + i] += h * rows.slopes[i] / batch
        for i in set(seen):
            matrix[1 + i] = 0.0
            matrix[1 + i, 0] = 1.0
        maps.append(affine(matrix, np.zeros(n + 1)))
    noise = np.zeros((n + 1, n + 1))
    noise[0, 0] = 2 * h
    return averaged([[operator(maps, noise)]])[1][0, 0]
