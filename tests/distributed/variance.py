"""The stationary variance of runs whose gradients have the ages that occurred, in one dimension."""

import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc import Diagonal, SGHMCSplit
from tests.distributed.problem import BATCH, ROWS, data, model
from tests.oracles import aged

H, FRICTION, CURVATURE = 0.1, 1.5, 1.0 + ROWS
BATCHES = 8
"""Batches of a chain; each is many times as long as draws depend on each other."""
REMEDIES = {"none": (None, 0.0), "friction": ("friction", 1.0), "curvature": ("curvature", 0.8)}
"""Remedy and the curvature that it assumes, as a share of the true one."""
Z = 4.0
"""Standard errors: P(|t| > 4) = 3e-4 a comparison with 31 degrees of freedom; keys are fixed."""


def kernel():
    """Return SGHMC by splitting in coordinates where the curvature is 1."""
    scale = Diagonal(jnp.full(1, CURVATURE**-0.5))
    return SGHMCSplit(model, H, friction=FRICTION, preconditioner=scale)


def options(name):
    """Return the options of a remedy."""
    remedy, share = REMEDIES[name]
    return {"remedy": remedy} | ({"curvature": np.full(1, share * CURVATURE)} if remedy else {})


def expected(ages, name):
    """Return E (theta - mean)^2 of each transition."""
    remedy, share = REMEDIES[name]
    (y,) = (np.asarray(x, np.float64) for x in data())
    noise = ROWS**2 * y.var() / BATCH / CURVATURE
    known, damping = (share if remedy == which else 0.0 for which in ("curvature", "friction"))
    numbers = {"friction": FRICTION, "known": known, "damping": damping, "noise": noise}
    return aged.second_moments("splitting", H, 1.0, ages, **numbers) / CURVATURE


def assert_variance(draws, ages, name, warmup):
    """Check squares of draws (chain, draw) against the recursion with each chain's own ages."""
    (y,) = (np.asarray(x, np.float64) for x in data())
    squares = (np.asarray(draws, np.float64) - y.sum() / CURVATURE) ** 2
    exact = np.stack([expected(own, name)[warmup:] for own in ages])
    each = (squares - exact).reshape(len(ages) * BATCHES, -1).mean(1)
    error = each.std(ddof=1) / np.sqrt(len(each))
    assert abs(each.mean()) < Z * error, (each.mean(), error, exact.mean(), squares.mean())
    return squares.mean() * CURVATURE, exact.mean() * CURVATURE, error * CURVATURE
