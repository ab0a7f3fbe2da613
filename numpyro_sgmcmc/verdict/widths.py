"""Fields along which effects become wider with the parameter that they share.

Where the widths of effects x_j depend on a shared parameter k, the derivative of U / T along a
constant field for k holds the sum of their squares. In the stationary law of a kernel its average
is 0, whatever temperature the effects have. Stein's identity along that field does not see that
effects which are too wide have moved k. Along

    w = w_k + sum_j (beta_j / 2) (x_j - c_j k) e_j,    beta_j = d log Var(x_j | k) / dk,

the effects' conditional distribution given k goes over into itself as k grows. The derivative less
the divergence,

    s = w . grad U / T - sum_j beta_j / 2,

is then nearly that of k's own marginal density, and E s = 0 and E[k s] = 1 hold for the posterior
with any beta. By the information in the widths, sum_j beta_j^2 / 2 <= 1 in units of k's standard
deviation, so that the squares of all effects together make s no noisier than k is.

In few dimensions the effects are y = R^(-1/2) x, with R the correlations of all coordinates, which
takes apart effects that depend on each other. Then k = sum_j a_j y_j, and the directions are
e_j - a_j w_k in place of e_j, along which k does not change. With d_j the derivative of y_j along
w_k, the divergence of (y_j - c_j k) (e_j - a_j w_k) is 1 - a_j c_j - a_j (d_j - c_j), and s has the
terms

    (beta_j / 2) ((y_j - c_j k) (dU / dy_j / T - a_j w_k . grad U / T) - (1 - a_j d_j)).

The draws' covariance gives R and c_j; w_k, and with it d_j, may belong to another one.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from numpyro_sgmcmc.subspace import Group
from numpyro_sgmcmc.verdict.regression import SMALLEST

SMALLEST_SQUARE = 1e-12
"""Mean square of a shared parameter over half of the draws, in units of its variance over all of
them, up to which it does not move."""

COLUMNS = 512
"""Effects that are looked at at once: their squares at all draws are a copy."""


class Dense(NamedTuple):
    """Matrices of few dimensions.

    Attributes:
        covariance: of the draws, (d, d).
        fields: the constant fields w_k of all coordinates, as columns, (d, d).
    """

    covariance: np.ndarray
    fields: np.ndarray


def with_widths(
    groups: tuple[Group, ...],
    draws: np.ndarray,
    gradients: np.ndarray,
    derivatives: np.ndarray,
    scale: np.ndarray,
    weights: np.ndarray,
    dense: Dense | None = None,
) -> np.ndarray:
    """Return the derivatives for the shared parameters along fields with widths, (n, k).

    A derivative is replaced where what is left of it by a regression on the parameter is less. The
    fields at the first half of the draws come from the second and the other way round, so that they
    do not depend on the draws at which they are used.

    Args:
        groups: of the coordinates.
        draws: about their mean, (n, d).
        gradients: of U / T, (n, d).
        derivatives: along constant fields, (n, m), coordinates first.
        scale: standard deviations of coordinates, (d,).
        weights: of the draws, (n,), with sum 1.
        dense: what takes effects apart in few dimensions; None in high dimension.
    """
    shared = shared_coordinates(groups)
    before = derivatives[:, shared] * scale[shared]
    half = int(np.searchsorted(np.cumsum(weights), 0.5))
    if not len(shared) or min(half, len(draws) - half) < 2:
        return derivatives[:, shared]
    halves = slice(0, half), slice(half, None)
    k = draws[:, shared] / scale[shared]
    apart = None
    if dense is not None:
        root = _root(dense.covariance / np.outer(scale, scale))
        inverse = np.linalg.inv(root)
        moved = inverse @ (dense.fields[:, shared] * scale[shared] / scale[:, None])
        apart = (draws / scale) @ inverse, (gradients * scale) @ root, root, moved
    total = np.zeros_like(k)
    for at in _blocks(groups):
        if apart is None:
            x, g = draws[:, at] / scale[at], gradients[:, at] * scale[at]
            a = (np.arange(at.start, at.stop)[:, None] == shared).astype(float)
            d = a  # Of the effects here a is 0, and k itself is not stretched.
        else:
            x, g = apart[0][:, at], apart[1][:, at]
            a, d = apart[2][at][:, shared], apart[3][at]
        found = [_growth(k[part], x[part], weights[part]) for part in halves]
        slopes = shrunk(*(growth for growth, _ in found))
        for part, beta, (_, c) in zip(halves, slopes[::-1], found[::-1], strict=True):
            inputs = k[part], before[part], x[part], g[part]
            total[part] += _stretched(*inputs, beta, c, a, d)
    after = before + total
    better = _left(k, after, weights) < _left(k, before, weights)
    return np.where(better, after, before) / scale[shared]


def _stretched(
    k: np.ndarray,
    along: np.ndarray,
    x: np.ndarray,
    g: np.ndarray,
    beta: np.ndarray,
    c: np.ndarray,
    a: np.ndarray,
    d: np.ndarray,
) -> np.ndarray:
    """Return what stretching effects adds to the derivatives `along` constant fields, (n, k)."""
    found = (x * g) @ beta - k * (g @ (beta * c)) - np.sum(beta * (1 - a * d), axis=0)
    if np.any(a):
        found -= along * (x @ (beta * a) - k * np.sum(beta * c * a, axis=0))
    return found / 2


def _root(matrix: np.ndarray) -> np.ndarray:
    """Return the symmetric square root, from which each coordinate differs least."""
    values, axes = np.linalg.eigh(matrix)
    return (axes * np.sqrt(np.maximum(values, SMALLEST * values[-1]))) @ axes.T


def shared_coordinates(groups: tuple[Group, ...]) -> np.ndarray:
    """Return the coordinates of shared parameters."""
    found, start = [], 0
    for size, directions in groups:
        if size == directions:
            found.extend(range(start, start + size))
        start += size
    return np.array(found, int)


def shrunk(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both estimates of the same slopes, (effects, k), with less of their noise.

    Deviations from the effects' mean are multiplied by the share of their mean square that both
    estimates have in common, as the noise of one is independent of that of the other.
    """
    centres = one.mean(0), other.mean(0)
    apart = one - centres[0], other - centres[1]
    common = np.maximum(np.sum(apart[0] * apart[1], axis=0), 0.0)
    result = []
    for centre, away in zip(centres, apart, strict=True):
        square = np.sum(away**2, axis=0)
        share = np.minimum(common / np.where(square > 0, square, np.inf), 1.0)
        result.append(centre + share * away)
    return result[0], result[1]


def _blocks(groups: tuple[Group, ...]) -> Iterator[slice]:
    """Yield coordinates of one array at a time, and of long ones only so many."""
    start = 0
    for size, _ in groups:
        for low in range(start, start + size, COLUMNS):
            yield slice(low, min(low + COLUMNS, start + size))
        start += size


def _growth(k: np.ndarray, x: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the slopes of log Var(x_j | k) and of E(x_j | k), (effects, k), about k = 0."""
    w = weights / weights.sum()
    centre, shift = w @ k, w @ x
    k, x = k - centre, x - shift
    weighted = w[:, None] * k
    square = np.sum(weighted * k, axis=0)
    # Draws that do not move have no slopes.
    moves = square > SMALLEST_SQUARE
    square, weighted = np.where(moves, square, 1.0), np.where(moves, weighted, 0.0)
    c = (x.T @ weighted) / square
    left = w @ x**2
    variance = left[:, None] - c**2 * square
    # E[k (x - c k)^2] = E[k x^2] - 2 c E[k^2 x] + c^2 E[k^3]
    moved = (x**2).T @ weighted - 2 * c * (x.T @ (weighted * k)) + c**2 * np.sum(weighted * k**2, 0)
    # Nothing is left of k itself.
    exists = variance > 1e-6 * left[:, None]
    return np.where(exists, moved / (square * np.where(exists, variance, 1.0)), 0.0), c


def _left(k: np.ndarray, s: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return what a regression on k leaves of s, as a share of its square slope, column by column.

    Adding effects' parts may change the slope.
    """
    k, s = k - weights @ k, s - weights @ s
    square, along = weights @ k**2, weights @ (k * s)
    rest = weights @ s**2 - along**2 / square
    return np.where(along > 0, rest / np.where(along > 0, along, 1.0) ** 2, np.inf)
