"""Exact bias and mean squared error of an average over a finite run of a linear recursion.

theta_k is Gaussian about the mean mu_k with covariances C_kl, so theta^2 has the mean
mu_k^2 + C_kk and the covariance 2 C_kl^2 + 4 mu_k mu_l C_kl. Gradient noise of a minibatch is
taken as normal: exact for the bias, near enough for the error with B = 10 normal rows.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.papers.gaussian import setting
from tests.oracles.recursion import Recursion


class Errors(NamedTuple):
    """Bias and mean squared error of the average of theta^2 after each number of steps wanted."""

    bias: np.ndarray
    mse: np.ndarray


def exact_errors(
    build: Callable[[float], Recursion],
    steps: np.ndarray,
    batch: int | None,
    wanted: Sequence[int],
    *,
    with_mse: bool = True,
) -> Errors:
    """Return the errors of sum h theta^2 / sum h for step sizes h_1, h_2, ... from the prior.

    A momentum starts at N(0, 1). At most max(wanted) steps are taken.
    """
    post, count = setting(), max(wanted)
    noise = post.gradient_noise(batch).at_mode
    parts = {h: build(h) for h in set(steps[:count])}
    moves = {h: r.transition(post.hessian) for h, r in parts.items()}
    added = {h: r.kick @ noise @ r.kick.T + h * r.heat @ r.heat.T for h, r in parts.items()}
    size = len(next(iter(moves.values())))
    mean, spread = np.zeros(size), np.eye(size)
    mean[0] = -post.mean
    means, spreads = np.empty((count, size)), np.empty((count, size, size))
    for k, h in enumerate(steps[:count]):
        mean = moves[h] @ mean
        spread = moves[h] @ spread @ moves[h].T + added[h]
        means[k], spreads[k] = mean, spread
    at = np.asarray(wanted) - 1
    weights = steps[:count]
    time = np.cumsum(weights)
    centre = post.mean + means[:, 0]
    bias = np.cumsum(weights * (centre**2 + spreads[:, 0, 0]))[at] / time[at] - post.target
    if not with_mse:
        return Errors(bias, np.full_like(bias, np.nan))
    transitions = np.stack([moves[h] for h in weights])
    variance = _variance(transitions, spreads, weights * 1.0, centre, at)
    return Errors(bias, bias**2 + variance / time[at] ** 2)


def _variance(
    transitions: np.ndarray,
    spreads: np.ndarray,
    weights: np.ndarray,
    centre: np.ndarray,
    at: np.ndarray,
) -> np.ndarray:
    """Return the variance of sum w theta^2, summed lag by lag until nothing is left."""
    column = spreads[:, :, 0].copy()  # cov(x_{k + lag}, theta_k)
    total = np.zeros(len(weights))
    for lag in range(len(weights)):
        if lag:
            column = np.einsum("kij,kj->ki", transitions[lag:], column[:-1])
        stop = len(weights) - lag
        between = column[:, 0]
        cov = 2 * between**2 + 4 * centre[lag:] * centre[:stop] * between
        pairs = (1 if lag == 0 else 2) * weights[lag:] * weights[:stop] * cov
        total[lag:] += pairs
        if lag and np.abs(column).max() < 1e-8 * np.abs(spreads).max():
            break
    return np.cumsum(total)[at]


def fixed_step_bias(recursion: Recursion, h: float, batch: int | None, steps: float) -> float:
    """Return the bias of the average of theta^2 over a run of any length at one step size.

    As `exact_errors`, in closed form: sums of powers of A and of A x A. nan where unstable.
    """
    post = setting()
    move = recursion.transition(post.hessian)
    noise = post.gradient_noise(batch).at_mode
    added = recursion.kick @ noise @ recursion.kick.T + h * recursion.heat @ recursion.heat.T
    if np.abs(np.linalg.eigvals(move)).max() >= 1:
        return float("nan")
    size = len(move)
    mean = np.zeros(size)
    mean[0] = -post.mean
    second = np.eye(size) + np.outer(mean, mean)
    double = np.kron(move, move)
    settled = np.linalg.solve(np.eye(size**2) - double, added.ravel())
    first = _sum_of_powers(move, mean, steps)[0]
    square = settled[0] * steps + _sum_of_powers(double, second.ravel() - settled, steps)[0]
    return float((square + 2 * post.mean * first) / steps - post.variance)


def _sum_of_powers(matrix: np.ndarray, vector: np.ndarray, steps: float) -> np.ndarray:
    """Return (A + A^2 + ... + A^steps) v."""
    values, basis = np.linalg.eig(matrix)
    left = np.linalg.solve(basis, vector.astype(complex))
    return np.real(basis @ (values * (1 - values**steps) / (1 - values) * left))
