"""Models to calibrate against: data come from the models themselves."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

ROWS, GROUPS, BATCH, SCALE = 16, 4, 8, 2.0
SETS = 60
"""Data sets with latents of rows in one run. A row has at most 64 of them."""
DESIGN = jax.random.normal(jax.random.key(3), (ROWS, 2))
GROUP = jnp.arange(ROWS) % GROUPS


def regression(y=None, batch=BATCH):
    """Two coefficients with known noise: the posterior is Gaussian."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    with numpyro.plate("rows", ROWS, subsample_size=batch) as rows:
        obs = None if y is None else y[rows]
        numpyro.sample("y", dist.Normal(DESIGN[rows] @ theta, SCALE), obs=obs)


def hierarchy(y=None, batch=BATCH):
    """Group effects with a learned scale, not centred."""
    mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
    tau = numpyro.sample("tau", dist.LogNormal(0.0, 0.5))
    raw = numpyro.sample("raw", dist.Normal(0.0, 1.0).expand([GROUPS]).to_event(1))
    with numpyro.plate("rows", ROWS, subsample_size=batch) as rows:
        obs = None if y is None else y[rows]
        numpyro.sample("y", dist.Normal(mu + tau * raw[GROUP[rows]], SCALE), obs=obs)


def mixture(y=None, batch=BATCH):
    """A binary latent for each row, which is summed out."""
    m = numpyro.sample("m", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", ROWS, subsample_size=batch) as rows:
        c = numpyro.sample("c", dist.Bernoulli(0.3))
        obs = None if y is None else y[rows]
        numpyro.sample("y", dist.Normal(m + 2.0 * c, 1.0), obs=obs)


def counts(y=None, batch=BATCH):
    """Latents of rows of `SETS` data sets side by side, which do not depend on each other."""
    mu = numpyro.sample("mu", dist.Normal(0.0, 1.0).expand([SETS]).to_event(1))
    with numpyro.plate("rows", ROWS, subsample_size=batch) as rows:
        a = numpyro.sample("a", dist.Normal(mu, 1.0).to_event(1))
        obs = None if y is None else y[rows]
        numpyro.sample("y", dist.Poisson(jnp.exp(a)).to_event(1), obs=obs)


class Replication(NamedTuple):
    """Unconstrained true values by site name, and data drawn with them."""

    truth: dict[str, Any]
    y: jax.Array


def replicate(model: Callable, key: jax.Array) -> Replication:
    """Draw parameters from the prior and data from the model."""
    seeded = numpyro.handlers.seed(model, key)
    sites = numpyro.handlers.trace(seeded).get_trace(batch=None)
    truth = {
        name: dist.biject_to(site["fn"].support).inv(site["value"])
        for name, site in sites.items()
        if site["type"] == "sample" and name != "y" and not site["fn"].support.is_discrete
    }
    return Replication(truth, sites["y"]["value"])
