"""Models with a hundred thousand groups, and exact moments of their shared parameters."""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpy.polynomial.hermite_e import hermegauss
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp
from scipy.stats import norm

ROWS, BATCH, TRIALS = 100_000, 2_000, 5
CENTRE = 0.5
POINTS, GRID, REACH = 60, 41, 6.0
"""Nodes of a row's integral; points of the shared parameters' grid along an axis, which reaches so
many standard deviations to either side."""


class Case(NamedTuple):
    """A model of groups with effects a_i ~ N(b, tau).

    Attributes:
        observed: distribution of y_i given a_i.
        log_density: its log density, (y, a) -> array.
        draw: data given effects and a generator.
        spread: the true tau.
        is_known: whether the model knows it.
    """

    observed: Callable
    log_density: Callable
    draw: Callable
    spread: float
    is_known: bool = False


def _logistic(y, a):
    chosen = gammaln(TRIALS + 1) - gammaln(y + 1) - gammaln(TRIALS - y + 1)
    return chosen + y * a - TRIALS * np.logaddexp(0, a)


CASES = {
    "known spread": Case(
        lambda a: dist.Normal(a, 1.0),
        lambda y, a: norm.logpdf(y, a, 1.0),
        lambda a, rng: a + rng.standard_normal(len(a)),
        1.0,
        True,
    ),
    "gaussian": Case(
        lambda a: dist.Normal(a, 1.0),
        lambda y, a: norm.logpdf(y, a, 1.0),
        lambda a, rng: a + rng.standard_normal(len(a)),
        1.5,
    ),
    "logistic": Case(
        lambda a: dist.Binomial(TRIALS, logits=a),
        _logistic,
        lambda a, rng: rng.binomial(TRIALS, 1 / (1 + np.exp(-a))),
        1.5,
    ),
    "poisson": Case(
        lambda a: dist.Poisson(jnp.exp(a)),
        lambda y, a: y * a - np.exp(a) - gammaln(y + 1),
        lambda a, rng: rng.poisson(np.exp(a)),
        0.7,
    ),
}


def data(name, rows=ROWS):
    case, rng = CASES[name], np.random.default_rng(0)
    effects = CENTRE + case.spread * rng.standard_normal(rows)
    return case.draw(effects, rng).astype(np.float32)


def model_of(name):
    case = CASES[name]

    def model(y, batch):
        b = numpyro.sample("b", dist.Normal(0.0, 1.0))
        tau = case.spread if case.is_known else numpyro.sample("tau", dist.HalfNormal(1.0))
        with numpyro.plate("groups", y.shape[0], subsample_size=batch) as i:
            a = numpyro.sample("a", dist.Normal(b, tau))
            numpyro.sample("y", case.observed(a), obs=y[i])

    return model


def log_likelihood(name, y):
    """Return the log likelihood of (b, tau), the latents integrated out.

    That of Gaussian rows is N(b, 1 + tau^2). Others are integrated by Gauss-Hermite quadrature
    under the prior of a_i, once for each value of y.
    """
    if name in ("known spread", "gaussian"):
        y = np.asarray(y, np.float64)
        size, mean, square = len(y), y.mean(), y.var()

        def gaussian(b, tau):
            variance = 1 + tau**2
            return -size / 2 * (np.log(variance) + (square + (mean - b) ** 2) / variance)

        return gaussian
    values, counts = np.unique(np.asarray(y, np.float64), return_counts=True)

    def integrated(b, tau, points=POINTS):
        nodes, weights = hermegauss(points)
        effects = b + tau * nodes
        each = [logsumexp(CASES[name].log_density(v, effects) + np.log(weights)) for v in values]
        return counts @ np.array(each)

    return np.vectorize(integrated, excluded=["points"])


def moments(name, y):
    """Return exact means and standard deviations, {name: (mean, sd)}, on a grid about the mode."""
    case, likelihood = CASES[name], log_likelihood(name, y)
    start = np.array([CENTRE, np.log(case.spread)])

    def negative(b, log_tau):
        tau = case.spread if case.is_known else np.exp(log_tau)
        return -likelihood(b, tau) + b**2 / 2 + (0.0 if case.is_known else tau**2 / 2 - log_tau)

    scale = 1 / np.sqrt(len(y))
    found = minimize(lambda x: negative(*(start + scale * x)), np.zeros(2), method="Nelder-Mead")
    mode = start + scale * found.x
    axes = []
    for place in np.eye(2):
        up, down = (negative(*(mode + sign * scale * place)) for sign in (1, -1))
        curvature = (up + down - 2 * negative(*mode)) / scale**2
        reach = 0.0 if curvature <= 0 else 1.5 * REACH / np.sqrt(curvature)
        axes.append(mode @ place + np.linspace(-reach, reach, GRID if reach else 1))
    b, log_tau = np.meshgrid(*axes, indexing="ij")
    total = -negative(b, log_tau)
    weight = np.exp(total - total.max())
    weight /= weight.sum()
    edges = weight[0].sum(), weight[-1].sum(), weight[:, 0].sum(), weight[:, -1].sum()
    assert max(edges[: 2 if case.is_known else 4]) < 1e-6, edges
    grids = {"b": b} if case.is_known else {"b": b, "tau": np.exp(log_tau)}
    means = {name: (weight * grid).sum() for name, grid in grids.items()}
    return {
        name: (mean, np.sqrt((weight * (grids[name] - mean) ** 2).sum()))
        for name, mean in means.items()
    }
