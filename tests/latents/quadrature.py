"""Exact moments of the shared parameters tau and b, by quadrature."""

from collections.abc import Callable

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import minimize
from scipy.special import logsumexp

POINTS = 40


def moments(y, trials):
    """Return means and standard deviations of tau and b of `binomial`, {name: (mean, sd)}.

    The latents are integrated by Gauss-Hermite quadrature under their prior, tau and b on a grid.
    """
    x, w = hermegauss(POINTS)
    successes, numbers = np.unique(np.asarray(y), return_counts=True)
    tau = np.linspace(1e-3, 2.0, 300)[:, None, None]
    b = np.linspace(-1.0, 2.0, 241)[None, :, None]
    logits = b + tau * x
    total = -(tau[..., 0] ** 2) / 2 - b[..., 0] ** 2 / 2
    for k, n in zip(successes, numbers, strict=True):
        log_density = k * logits - trials * np.logaddexp(0, logits)
        total = total + n * logsumexp(log_density + np.log(w), axis=2)
    weight = np.exp(total - total.max())
    weight /= weight.sum()
    edges = weight[0].sum(), weight[-1].sum(), weight[:, 0].sum(), weight[:, -1].sum()
    assert max(edges[1:]) < 1e-6, edges  # the grid holds all of it but tau near 0
    found = {}
    for name, grid in (("tau", tau[..., 0]), ("b", b[..., 0])):
        mean = (weight * grid).sum()
        found[name] = mean, np.sqrt((weight * (grid - mean) ** 2).sum())
    return found


WIDTH, REACH = 9.0, 7.0
"""How many prior standard deviations of a latent, and of the posterior, are integrated over."""


def narrow_moments(
    y: np.ndarray,
    log_density: Callable[[float, np.ndarray], np.ndarray],
    nodes: int = 150,
    points: int = 31,
) -> dict[str, tuple[float, float]]:
    """Return the same where many rows make the posterior of tau and b narrow and nearly normal.

    Rows with the same y share an integral over their latent a ~ N(b, tau), by the trapezoidal rule,
    whose error decreases faster than any power of the distance of its nodes. The grid of tau and b
    is centred at their mode, in coordinates in which the Hessian there is the identity.

    Args:
        y: one number of each row, (N,).
        log_density: log p(y | a) up to a constant, from y and an array of a.
        nodes: of the integral over a latent.
        points: of the grid along each of its two directions.
    """
    x = np.linspace(-WIDTH, WIDTH, nodes)
    distinct, numbers = np.unique(np.asarray(y, np.float64), return_counts=True)

    def log_posterior(tau: np.ndarray, b: np.ndarray) -> np.ndarray:
        latents = b[..., None] + tau[..., None] * x
        total = -(tau**2) / 2 - b**2 / 2
        for value, number in zip(distinct, numbers, strict=True):
            total = total + number * logsumexp(log_density(value, latents) - x**2 / 2, axis=-1)
        return total

    def loss(at: np.ndarray) -> float:
        return -float(log_posterior(*np.asarray(at))) / len(y)

    options = {"xatol": 1e-7, "fatol": 1e-14}
    mode = minimize(loss, [0.5, 0.5], method="Nelder-Mead", options=options).x
    root = np.linalg.cholesky(np.linalg.inv(len(y) * _hessian(loss, mode)))
    axis = np.linspace(-REACH, REACH, points)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"))
    tau, b = mode[:, None, None] + np.einsum("ij,jkl->ikl", root, grid)
    total = log_posterior(tau, b)
    weight = np.exp(total - total.max())
    weight /= weight.sum()
    edges = weight[0].sum(), weight[-1].sum(), weight[:, 0].sum(), weight[:, -1].sum()
    assert max(edges) < 1e-6, edges
    found = {}
    for name, values in (("tau", tau), ("b", b)):
        mean = float((weight * values).sum())
        found[name] = mean, float(np.sqrt((weight * (values - mean) ** 2).sum()))
    return found


def _hessian(loss: Callable[[np.ndarray], float], at: np.ndarray, step: float = 1e-3) -> np.ndarray:
    """Return the Hessian by central differences, (2, 2)."""
    e = step * np.eye(2)

    def slope(i: int, there: np.ndarray) -> float:
        return (loss(there + e[i]) - loss(there - e[i])) / (2 * step)

    def entry(i: int, j: int) -> float:
        return (slope(i, at + e[j]) - slope(i, at - e[j])) / (2 * step)

    return np.array([[entry(i, j) for j in range(2)] for i in range(2)])
