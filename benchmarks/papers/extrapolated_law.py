"""Exact cumulants of SGRRLD's average of a squared Gaussian, for any correlation of the walkers.

U = y^2 / 2 with exact gradients. With increments g, w ~ N(0, 1) and the correlation r of the
walkers' Brownian paths, a transition of step size t takes the fine walker f and the coarse c to

    f_half = (1 - t/2) f + sqrt(t) g1,  f' = (1 - t/2) f_half + sqrt(t) g2,
    c' = (1 - t) c + r sqrt(t) (g1 + g2) + sqrt(2 t (1 - r^2)) w

(equations 4, 5 and 8 of Durmus et al. 2016, Sigma = r). The estimate is the sum of
t' (f_half^2 + f'^2 - c'^2 - 1) over that of t', the next transition's step size. The sum's
cumulants are derivatives of its log E exp(s sum) at s = 0. Given the walkers y = (f, c), the rest
of the sum has y' P y + const there, and P follows backwards in time: for x ~ N(m, C)

    log E exp(x' A x) = m' A (I - 2 C A)^-1 m - log det(I - 2 C A) / 2.

All of these are power series in s, kept up to s^4.
"""

from math import factorial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

ORDER = 4
FORM = np.diag([1.0, 1.0, -1.0])
ENDS = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
"""From (f_half, f', c') to (f', c')."""
LIMIT_BIAS = -1 / 8
"""mu_R of theorem 1.

The variance at a constant t is 1 / (1 - t/2) = 1 + t/2 + t^2/4 + ..., of which extrapolation leaves
2 t^2/16 - t^2/4.
"""


class Law(NamedTuple):
    """Cumulants of the estimate's error, and sums of step sizes and of their cubes, each (cells,).

    Attributes:
        bias: its mean.
        variance: its variance.
        skewness: its third cumulant in units of the standard deviation.
        kurtosis: its fourth cumulant likewise, 0 for a Gaussian.
        time: Gamma, the sum of the weights t'.
        cubes: the sum of their cubes.
    """

    bias: np.ndarray
    variance: np.ndarray
    skewness: np.ndarray
    kurtosis: np.ndarray
    time: np.ndarray
    cubes: np.ndarray


def law(first: float, alpha: np.ndarray, count: int, correlation: np.ndarray) -> Law:
    """Return the law after `count` transitions with t_k = first * k^-alpha, in each cell.

    Both walkers start at one draw of N(0, 1), the target.
    """
    with jax.enable_x64(True):
        alpha, correlation = (jnp.asarray(x, jnp.float64) for x in (alpha, correlation))
        found = _cumulants(first, alpha, jnp.asarray(count), correlation)
    logarithm, time, cubes = (np.asarray(x) for x in found)
    mean, variance, third, fourth = (
        factorial(k + 1) * logarithm[k] / time ** (k + 1) for k in range(ORDER)
    )
    skewness, kurtosis = third / variance**1.5, fourth / variance**2
    return Law(mean - 1, variance, skewness, kurtosis, time, cubes)


@jax.jit
def _cumulants(first: float, alpha: Any, count: Any, correlation: Any) -> tuple[Any, Any, Any]:
    """Return the series of log E exp(s sum), (ORDER, cells), and sums of weights and cubes."""

    def before(number: Any, carry: tuple) -> tuple:
        form, logarithm, time, cubes = carry
        step = (count - number).astype(jnp.float64)
        t, weight = (first * k**-alpha for k in (step, step + 1))
        ahead = (ENDS.T @ form @ ENDS).at[0].add(weight[:, None, None] * FORM)
        pulled, more = integrated(ahead, noise(t, correlation))
        move = moves(t)
        form = jnp.swapaxes(move, 1, 2) @ pulled @ move
        return form, logarithm + more, time + weight, cubes + weight**3

    zero = jnp.zeros_like(alpha)
    carry = jnp.zeros((ORDER, len(alpha), 2, 2)), jnp.zeros((ORDER, len(alpha))), zero, zero
    form, logarithm, time, cubes = jax.lax.fori_loop(0, count, before, carry)
    return logarithm + integrated(form, jnp.ones((len(alpha), 2, 2)))[1], time, cubes


def integrated(form: jax.Array, covariance: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return A (I - 2 C A)^-1 and -log det(I - 2 C A) / 2, coefficients of s to s^ORDER each.

    Args:
        form: those of A, (ORDER, cells, d, d).
        covariance: C, (cells, d, d).
    """
    both = 2 * covariance @ form
    inverse = [jnp.broadcast_to(jnp.eye(both.shape[-1]), both.shape[1:])]
    pulled, logarithm = [], []
    for n in range(1, ORDER + 1):
        # B = 2 C A, R = (I - B)^-1 = I + B R, and -log det(I - B) has the derivative tr R B'.
        pairs = [(j, inverse[n - j]) for j in range(1, n + 1)]
        pulled.append(sum(form[j - 1] @ rest for j, rest in pairs))
        traces = [j * jnp.einsum("nij,nji->n", rest, both[j - 1]) for j, rest in pairs]
        logarithm.append(sum(traces) / (2 * n))
        inverse.append(sum(both[j - 1] @ rest for j, rest in pairs))
    return jnp.stack(pulled), jnp.stack(logarithm)


def moves(t: jax.Array) -> jax.Array:
    """Return the matrices from (f, c) to (f_half, f', c'), (cells, 3, 2)."""
    zero, half = jnp.zeros_like(t), 1 - t / 2
    return _matrix([[half, zero], [half**2, zero], [zero, 1 - t]])


def noise(t: jax.Array, correlation: jax.Array) -> jax.Array:
    """Return the covariances of what a transition adds to (f_half, f', c'), (cells, 3, 3)."""
    half = 1 - t / 2
    fine, coarse, both = t * half, correlation * t, correlation * t * (half + 1)
    return _matrix([[t, fine, coarse], [fine, t * (half**2 + 1), both], [coarse, both, 2 * t]])


def _matrix(entries: list[list[jax.Array]]) -> jax.Array:
    return jnp.stack([jnp.stack(row, axis=-1) for row in entries], axis=-2)


def limit_variance(correlation: float) -> float:
    """Return sigma_R^2 of theorem 1.

    g = y^2 / 2 solves the Poisson equation of y^2. A walker's variance is 2 E g'(y)^2 = 2, and the
    covariance of two is 2 r E g'(y) g'(y') = 2 r^2, as r is their own correlation: with the
    coefficients 2 and -1 the variance is 2 (4 + 1 - 4 r^2).
    """
    return 2 * (5 - 4 * correlation**2)
