"""Logistic regression of Brosse et al. (2018): its mode, theorems 6 and 7, and exact identities."""

from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from tests.oracles.linear import Noise
from tests.oracles.recursion import langevin, stationary_covariance

BATCH = 10
"""The paper does not give its minibatch size p."""


def model(x: jax.Array, y: jax.Array, batch: int | None = BATCH) -> None:
    """y ~ Bernoulli(sigmoid(x theta)), theta ~ N(0, I)."""
    rows, columns = x.shape
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0).expand([columns]).to_event(1))
    with numpyro.plate("rows", rows, subsample_size=batch) as index:
        index = slice(None) if batch is None else index
        numpyro.sample("y", dist.Bernoulli(logits=x[index] @ theta), obs=y[index])


class Local(NamedTuple):
    """The posterior about its mode: U's derivatives there and the rows' parts in them."""

    mode: np.ndarray
    hessian: np.ndarray
    third: np.ndarray
    row_gradients: np.ndarray
    row_hessians: np.ndarray

    def covariance(self, h: float, noise: Noise, temperature: float) -> np.ndarray:
        """Return the stationary second moment about the mode, theorems 6 and 7 to first order.

        Equations 10 to 13 are the solutions of this Lyapunov equation.
        """
        build = langevin(h, np.eye(len(self.mode)), 0.0)
        return stationary_covariance(build, self.hessian, noise, h, temperature)

    def balance(
        self, h: float, away: np.ndarray, pull: np.ndarray, noise: np.ndarray, temperature: float
    ) -> np.ndarray:
        """Return a number for each draw whose mean is tr E (z - mode)(z - mode)', exactly.

        Write d = z - mode, g = grad U(z), V for the covariance of the minibatch's gradient at z and
        r = g - H d for what is not linear in g. A step z - h (g + noise) + sqrt(2 T h) xi keeps
        E d d' where the chain is stationary, so C = E d d' solves

            H C + C H - h H C H = 2 T I + E [h V - d r' - r d' + h (r d' H + H d r' + r r')].

        Args:
            h: the step size.
            away: d of each draw, (m, d).
            pull: g of each draw, (m, d).
            noise: V of each draw, (m, d, d).
            temperature: T.
        """
        eye, hess = np.eye(len(self.mode)), self.hessian
        operator = np.kron(hess, eye) + np.kron(eye, hess) - h * np.kron(hess, hess)
        weight = np.linalg.solve(operator, eye.ravel()).reshape(eye.shape)
        return np.einsum("ij,mij->m", weight, source(hess, h, away, pull, noise, temperature))

    def bias(self, covariance: np.ndarray) -> np.ndarray:
        """Return mean - mode = -H^-1 D3U[covariance] / 2."""
        push = np.einsum("ijk,jk->i", self.third, covariance)
        return -0.5 * np.linalg.solve(self.hessian, push)

    def noise(self, kind: str) -> Noise:
        """Return the gradient noise of LMC, SGLD and SGD (plain), or SGLDFP (fixed point)."""
        rows = len(self.row_gradients)
        linear = rows * self.row_hessians - self.row_hessians.sum(0)
        constant = rows * (self.row_gradients - self.row_gradients.mean(0))
        if kind == "SGLDFP":
            constant = np.zeros_like(constant)
        return Noise(constant, linear, 0.0 if kind == "LMC" else 1 / BATCH)


def source(
    hessian: np.ndarray,
    h: float,
    away: np.ndarray,
    pull: np.ndarray,
    noise: np.ndarray,
    temperature: float,
) -> np.ndarray:
    """Return what feeds the second moment in the equation of `Local.balance`, (m, d, d)."""
    eye = np.eye(len(hessian))
    rest = pull - away @ hessian
    mixed = np.einsum("mi,mj->mij", rest, away @ (h * hessian - eye))
    square = h * np.einsum("mi,mj->mij", rest, rest)
    return 2 * temperature * eye + h * noise + mixed + mixed.transpose(0, 2, 1) + square


@cache
def simulate(rows: int, columns: int, most: int = 100_000) -> tuple[np.ndarray, np.ndarray]:
    """Return the first rows of one data set."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(most, columns))
    theta = rng.normal(size=columns) / np.sqrt(columns)
    y = rng.uniform(size=most) < _sigmoid(x @ theta)
    return x[:rows], y[:rows].astype(np.float64)


def gradient(x: np.ndarray, y: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return grad U at each theta (m, d), in double precision."""
    return np.array([t + x.T @ (_sigmoid(x @ t) - y) for t in theta])


def gradient_noise(
    x: np.ndarray, y: np.ndarray, theta: np.ndarray, anchor: np.ndarray | None
) -> np.ndarray:
    """Return the exact covariance of a minibatch's gradient at each theta, (m, d, d).

    Rows are drawn with replacement: N^2 / B times the covariance of the rows' gradients, which with
    an anchor are taken less those at the anchor.
    """
    base = y if anchor is None else _sigmoid(x @ anchor)
    rows = len(x)

    def at(t: np.ndarray) -> np.ndarray:
        rest = _sigmoid(x @ t) - base
        mean = x.T @ rest / rows
        return (x.T * rest**2) @ x / rows - np.outer(mean, mean)

    return rows**2 / BATCH * np.array([at(t) for t in theta])


def mode(x: np.ndarray, y: np.ndarray, steps: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Return the posterior's mode, found by Newton's method, and U's second derivative there."""
    theta, eye = np.zeros(x.shape[1]), np.eye(x.shape[1])
    for _ in range(steps):
        share = _sigmoid(x @ theta)
        hessian = eye + (x * (share * (1 - share))[:, None]).T @ x
        theta = theta - np.linalg.solve(hessian, gradient(x, y, theta[None])[0])
    return theta, hessian


def expand(x: np.ndarray, y: np.ndarray) -> Local:
    """Return the posterior about its mode."""
    theta, hessian = mode(x, y)
    share = _sigmoid(x @ theta)
    curvature = share * (1 - share)
    outer = np.einsum("ni,nj->nij", x, x)
    skew = curvature * (1 - 2 * share)
    third = np.einsum("n,nij,nk->ijk", skew, outer, x)
    gradients = x * (share - y)[:, None]
    return Local(theta, hessian, third, gradients, curvature[:, None, None] * outer)


def arrays(x: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
    """Return the data as the model's arguments."""
    return jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))
