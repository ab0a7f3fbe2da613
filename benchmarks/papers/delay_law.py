"""Exact bias and mean squared error of SGLD whose gradients are tau transitions old."""

from functools import cache

import numpy as np

from benchmarks.papers.gaussian import setting
from tests.oracles import stale
from tests.oracles.recursion import DYNAMICS


@cache
def exact_errors(
    delay: int, h: float, batch: int | None, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return bias and MSE of the average of theta^2 after 1, ..., count steps.

    x_{k+1} = x_k - h lambda x_{k - tau} + w_k about the mean, with x_j = x_0 for j < 0. So x_k is
    r_k x_0 plus the impulse response g applied to w, whose variance is 2 h + h^2 V; theta^2 has the
    covariances of `finite_time`.
    """
    post = setting()
    pull = h / post.variance
    noise = h**2 * float(post.gradient_noise(batch, replace=False).at_mode[0, 0])
    answer = {"r": np.ones(count + delay + 1), "g": np.zeros(count + delay + 1)}
    answer["g"][delay] = 1.0
    for values in answer.values():
        for k in range(delay, count + delay):
            values[k + 1] = values[k] - pull * values[k - delay]
    start, impulse = answer["r"][delay + 1 :], answer["g"][delay:-1]
    centre = post.mean * (1 - start)
    squares, total = np.zeros(count), np.zeros(count)
    for lag in range(count):
        summed = np.cumsum(impulse[: count - lag] * impulse[lag:])
        cov = start[: count - lag] * start[lag:] + (2 * h + noise) * summed
        if lag == 0:
            squares = np.cumsum(centre**2 + cov)
        between = 2 * cov**2 + 4 * centre[: count - lag] * centre[lag:] * cov
        total[lag:] += (1 if lag == 0 else 2) * between
    steps = np.arange(1, count + 1)
    bias = squares / steps - post.target
    return bias, bias**2 + np.cumsum(total) / steps**2


def stationary_variances(
    delay: int, h: float, batch: int | None, count: int
) -> tuple[float, float, float]:
    """Return variances from a stationary start: of theta, of averages of theta and of theta^2.

    The averages are over `count` steps. The impulse response g of `exact_errors` gives the
    stationary autocovariance, sum_k g_k g_{k + lag} times the variance of w.
    """
    post = setting()
    pull = h / post.variance
    noise = h**2 * float(post.gradient_noise(batch, replace=False).at_mode[0, 0])
    length = count + int(np.ceil(60 / pull))
    impulse = np.zeros(length + delay)
    impulse[delay] = 1.0
    for k in range(delay, length + delay - 1):
        impulse[k + 1] = impulse[k] - pull * impulse[k - delay]
    power = np.abs(np.fft.rfft(impulse[delay:], 2 * length)) ** 2
    cov = (2 * h + noise) * np.fft.irfft(power)[:count]
    weights = np.where(np.arange(count) > 0, 2.0, 1.0) * (1 - np.arange(count) / count) / count
    of_square = 2 * cov**2 + 4 * post.mean**2 * cov
    return float(cov[0]), float(weights @ cov), float(weights @ of_square)


def random_delay_variances(
    ages: np.ndarray, h: float, batch: int | None, count: int
) -> tuple[float, float]:
    """Return variances from a stationary start, of theta and of its average over `count` steps.

    The age of each gradient is drawn anew, with these probabilities. X = (x, its last m values)
    follows X <- A_k X + noise, so its covariance M solves M = sum_k w_k A_k M A_k' + Q, and the
    covariance over a lag l is A^l M with A the mean of the A_k.
    """
    post, recursion = setting(), DYNAMICS["langevin"](h, np.eye(1), 0.0)
    noise = h**2 * float(post.gradient_noise(batch, replace=False).at_mode[0, 0])
    largest = len(ages) - 1
    each = [stale.matrix(recursion, 1 / post.variance, k, largest, 0.0) for k in range(len(ages))]
    added = np.zeros_like(each[0])
    added[0, 0] = 2 * h + noise
    squares = np.array([np.kron(a, a) for a in each])
    operator = np.tensordot(ages, squares, 1)
    settled = np.linalg.solve(np.eye(len(operator)) - operator, added.ravel())
    column = settled.reshape(added.shape)[:, 0]
    mean = np.tensordot(ages, np.array(each), 1)
    cov = np.empty(count)
    for lag in range(count):
        cov[lag] = column[0]
        column = mean @ column
    weights = np.where(np.arange(count) > 0, 2.0, 1.0) * (1 - np.arange(count) / count) / count
    return float(cov[0]), float(weights @ cov)
