"""Exact bias and mean squared error of SGRRLD's running average, one dimension, any step sizes.

In units of the posterior's standard deviation, with t = h lambda and a minibatch's relative
gradient noise D y + a, one transition takes the walkers (c, f) through two stages, with increments
g ~ N(0, 1) that they share:

    c <- (1 - t - t D0) c - t a0 + sqrt(t) g1,  f <- (1 - t/2 - t/2 D1) f - t/2 a1 + sqrt(t) g1,
    c <- c + sqrt(t) g2,                        f <- (1 - t/2 - t/2 D2) f - t/2 a2 + sqrt(t) g2.

Moments of (c, f) up to order four are linear in those before, and so are those of (c, f) with the
sum S of t' (f_half^2 + f^2 - c^2 - 1): E S y^k with k <= 2, and E S^2. The weight t' is the next
transition's t (equation 6 of the paper). Nothing is taken as normal: the moments of a minibatch of
rows drawn without replacement are exact.
"""

from collections.abc import Callable, Sequence
from functools import cache
from math import comb, factorial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.papers.regression import BATCH, posterior
from benchmarks.papers.subset_moments import moment

ORDER = 4
MONOMIALS = [(i, k - i) for k in range(ORDER + 1) for i in range(k + 1)]
LOW = sum(i + j <= 2 for i, j in MONOMIALS)
NORMAL = (1.0, 0.0, 1.0, 0.0, 3.0)
NODES = np.linspace(0.0, 1.0, ORDER + 1)


class Averages(NamedTuple):
    """Bias and mean squared error of the variance's estimate, over the posterior's variance."""

    bias: np.ndarray
    mse: np.ndarray


@cache
def noise_moments() -> np.ndarray:
    """Return E D^i a^j of a minibatch's relative noise, at [i, j]."""
    post = posterior(1)
    curvature = float(post.hessian[0, 0])
    slope = post.noise.linear[:, 0, 0] / curvature
    offset = post.noise.constant[:, 0] / np.sqrt(curvature)
    found = np.zeros((ORDER + 1, ORDER + 1))
    for i, j in MONOMIALS:
        found[i, j] = moment([slope] * i + [offset] * j, BATCH)
    return found


def _moves(t: float) -> np.ndarray:
    """Return E A^p b^q at [p, q], with A = 1 - t - t D and b = -t a; t = 0 does not move."""
    noise, found = noise_moments(), np.zeros((ORDER + 1, ORDER + 1))
    for p, q in MONOMIALS:
        terms = [
            comb(p, k) * (1 - t) ** (p - k) * (-t) ** (k + q) * noise[k, q] for k in range(p + 1)
        ]
        found[p, q] = sum(terms)
    return found


def _powers(moves: np.ndarray, heat: float, power: int) -> list[tuple[int, int, float]]:
    """Return (A y + b + heat g)^power as terms (power of y, power of g, coefficient)."""
    terms = []
    for p in range(power + 1):
        for q in range(power - p + 1):
            r = power - p - q
            ways = factorial(power) / (factorial(p) * factorial(q) * factorial(r))
            terms.append((p, r, ways * moves[p, q] * heat**r))
    return terms


def stage(t_coarse: float, t_fine: float, heat: float) -> np.ndarray:
    """Return the matrix of a stage on the moments of `MONOMIALS`."""
    coarse, fine = _moves(t_coarse), _moves(t_fine)
    found = np.zeros((len(MONOMIALS), len(MONOMIALS)))
    for row, (i, j) in enumerate(MONOMIALS):
        for p, r, one in _powers(coarse, heat, i):
            for p_fine, r_fine, two in _powers(fine, heat, j):
                found[row, MONOMIALS.index((p, p_fine))] += one * two * NORMAL[r + r_fine]
    return found


@cache
def stages() -> np.ndarray:
    """Return both stages as polynomials in t, (2, 5, 15, 15): coefficients of 1, t, ..., t^4."""
    inverse = np.linalg.inv(np.vander(NODES, increasing=True))
    at_nodes = [
        [stage(t, t / 2, np.sqrt(t)) for t in NODES],
        [stage(0.0, t / 2, np.sqrt(t)) for t in NODES],
    ]
    return np.einsum("kn,snij->skij", inverse, np.array(at_nodes))


def _functions() -> np.ndarray:
    """Return f^2 - 1 and f^2 - c^2 as coefficients on the monomials of order <= 2, (2, 6)."""
    found = np.zeros((2, LOW))
    found[:, MONOMIALS.index((0, 2))] = 1.0
    found[0, 0] = -1.0
    found[1, MONOMIALS.index((2, 0))] = -1.0
    return found


def _products(coefficients: np.ndarray) -> np.ndarray:
    """Return the matrix that takes moments to those of a function times the low monomials."""
    found = np.zeros((LOW, len(MONOMIALS)))
    for row, (i, j) in enumerate(MONOMIALS[:LOW]):
        for value, (p, q) in zip(coefficients, MONOMIALS[:LOW], strict=True):
            found[row, MONOMIALS.index((i + p, j + q))] += value
    return found


def start_moments(mean: float, deviation: float) -> np.ndarray:
    """Return the moments of both walkers at one point of a normal distribution of theta."""
    post = posterior(1)
    scale = float(np.sqrt(post.hessian[0, 0]))
    away, spread = (mean - float(post.mean[0])) * scale, deviation * scale
    raw = [sum(comb(n, k) * away ** (n - k) * spread**k * NORMAL[k] for k in range(n + 1))
           for n in range(ORDER + 1)]  # fmt: skip
    return np.array([raw[i + j] for i, j in MONOMIALS])


def averages(schedule: Callable[[Any], Any], wanted: Sequence[int], start: np.ndarray) -> Averages:
    """Return the errors after each number of transitions, (len(wanted), n).

    Args:
        schedule: from the transition's number 1, 2, ... to t, (n,), in jax.numpy.
        wanted: increasing numbers of transitions.
        start: the moments of each start, (n, 15), such as those of `start_moments`.
    """
    bias, mse = [], []
    count = len(start)
    with jax.enable_x64(True):
        polynomials = jnp.asarray(stages())
        functions = jnp.asarray(_functions())
        products = jnp.asarray(np.array([_products(each) for each in _functions()]))

        def add(which: int, weight: Any, powers: Any, carry: Any) -> Any:
            moments, crossed, square = carry
            matrix = jnp.einsum("nk,kij->nij", powers, polynomials[which])
            moments = jnp.einsum("nij,nj->ni", matrix, moments)
            crossed = jnp.einsum("nij,nj->ni", matrix[:, :LOW, :LOW], crossed)
            both = moments @ products[which].T
            square = square + 2 * weight * (crossed @ functions[which])
            square = square + weight**2 * (both @ functions[which])
            return moments, crossed + weight[:, None] * both, square

        def transition(k: Any, carry: Any) -> Any:
            *carry, time = carry
            t, weight = (schedule((k + i).astype(jnp.float64)) for i in (0, 1))
            powers = t[:, None] ** jnp.arange(ORDER + 1, dtype=jnp.float64)
            carry = add(1, weight, powers, add(0, weight, powers, tuple(carry)))
            return *carry, time + weight

        run = jax.jit(lambda first, last, carry: jax.lax.fori_loop(first, last, transition, carry))
        zeros = jnp.zeros(count)
        carry = (jnp.asarray(start), jnp.zeros((count, LOW)), zeros, zeros)
        reached = 0
        for last in wanted:
            carry = run(jnp.asarray(reached + 1), jnp.asarray(last + 1), carry)
            reached = last
            _, crossed, square, time = (np.asarray(x) for x in carry)
            bias.append(crossed[:, 0] / time)
            mse.append(square / time**2)
    return Averages(np.array(bias), np.array(mse))
