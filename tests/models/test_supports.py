"""Latent sites of every common support."""

from functools import partial

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.distributions.transforms import OrderedTransform

from numpyro_sgmcmc import SGLD, SGHMCSplit
from tests.marks import briefly
from tests.models.agreement import assert_moving_inside, assert_unbiased, run

Y = jax.random.normal(jax.random.key(1), (24,))

PRIORS = {
    "real vector": lambda: dist.MultivariateNormal(jnp.zeros(2), jnp.eye(2)),
    "positive": lambda: dist.HalfNormal(1.0),
    "positive vector": lambda: dist.LogNormal(0.0, 0.5).expand([3]).to_event(1),
    "unit interval": lambda: dist.Beta(2.0, 3.0),
    "interval": lambda: dist.Uniform(-1.0, 3.0),
    "half line": lambda: dist.TruncatedNormal(0.0, 1.0, low=-0.5),
    "simplex": lambda: dist.Dirichlet(jnp.full(3, 2.0)),
    "correlation Cholesky": lambda: dist.LKJCholesky(3, 2.0),
    "correlation": lambda: dist.LKJ(3, 2.0),
    "covariance": lambda: dist.InverseWishart(5.0, scale_matrix=jnp.eye(2)),
    "ordered": lambda: dist.TransformedDistribution(
        dist.Normal(0.0, 1.0).expand([3]).to_event(1), OrderedTransform()
    ),
    "zero sum": lambda: dist.ZeroSumNormal(1.0, (4,)),
    "improper": lambda: dist.ImproperUniform(dist.constraints.positive, (), (2,)),
}


def one_site(y, prior, batch):
    value = jnp.ravel(numpyro.sample("value", prior()))
    with numpyro.plate("rows", y.size, subsample_size=batch) as index:
        numpyro.sample("y", dist.Normal(value @ (1.0 + jnp.arange(value.size)), 1.0), obs=y[index])


def dynamic(y, batch):
    low = numpyro.sample("low", dist.Normal(0.0, 1.0))
    high = numpyro.sample("high", dist.TruncatedNormal(low + 1.0, 1.0, low=low))
    level = numpyro.sample("level", dist.Uniform(low, high))
    share = numpyro.sample("share", dist.Uniform(0.0, high - low))
    with numpyro.plate("rows", y.size, subsample_size=batch) as index:
        numpyro.sample("y", dist.Normal(level + share, 1.0), obs=y[index])


ALIKE = {
    "correlation",
    "correlation Cholesky",
    "covariance",
    "positive vector",
    "interval",
    "improper",
    "real vector",
    "half line",
    "unit interval",
    "zero sum",
}
"""Supports that are left to long tests: quick ones have one coordinate, or several, as they do."""


@pytest.mark.parametrize(
    "support",
    briefly(PRIORS, PRIORS.keys() - ALIKE, {"interval", "covariance", "zero sum", "improper"}),
)
def test_one_site(support):
    model = partial(one_site, prior=PRIORS[support])
    assert_unbiased(model, Y, batch=4)
    # The inverse Wishart's scale is a steep function of its unconstrained coordinates.
    step_size = 1e-5 if support == "covariance" else 2e-4
    mcmc = run(SGLD(model, step_size), Y, batch=4)
    draws = assert_moving_inside(mcmc, model, Y, batch=None)
    assert draws["value"].shape == (40, *jnp.shape(prior_value(support)))


def prior_value(support):
    distribution = PRIORS[support]()
    return jnp.zeros(distribution.batch_shape + distribution.event_shape)


@pytest.mark.long
def test_support_bounded_by_other_latent_sites():
    assert_unbiased(dynamic, Y, batch=4)
    mcmc = run(SGHMCSplit(dynamic, 0.02, friction=5.0), Y, batch=4)
    draws = assert_moving_inside(mcmc, dynamic, Y, batch=None)
    assert (draws["low"] < draws["level"]).all() and (draws["level"] < draws["high"]).all()
