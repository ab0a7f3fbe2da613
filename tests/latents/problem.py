"""Models with latents of rows, and a Gaussian one whose posterior is known."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGHMCSplit

SPREAD, ERROR, BATCH = 0.8, 1.0, 2
Y = np.array([-1.1, 0.3, 0.9, 2.2, 0.1, 1.4])


def gaussian(y, batch=BATCH):
    theta = numpyro.sample("theta", dist.Normal(jnp.zeros(1), 1.0).to_event(1))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        a = numpyro.sample("a", dist.Normal(theta[0], SPREAD))
        numpyro.sample("y", dist.Normal(a, ERROR), obs=y[i])


class Posterior(NamedTuple):
    """The joint posterior of theta and the rows' latents: means and a covariance, theta first."""

    mean: np.ndarray
    covariance: np.ndarray


def posterior(y=Y):
    """Return the exact posterior of `gaussian`."""
    size = len(y)
    precision = np.diag([1 + size / SPREAD**2, *[1 / SPREAD**2 + 1 / ERROR**2] * size])
    precision[0, 1:] = precision[1:, 0] = -1 / SPREAD**2
    covariance = np.linalg.inv(precision)
    return Posterior(covariance @ np.array([0.0, *(np.asarray(y) / ERROR**2)]), covariance)


def binomial(y, batch=None, trials=5):
    """A random intercept of each row, as in the how-to."""
    tau = numpyro.sample("tau", dist.HalfNormal(1.0))
    b = numpyro.sample("b", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        a = numpyro.sample("a", dist.Normal(b, tau))
        numpyro.sample("y", dist.Binomial(trials, logits=a), obs=y[i])


def counts(y, batch=None):
    """Positive latents of rows and columns, and a simplex for each row."""
    rate = numpyro.sample("rate", dist.LogNormal(0.0, 1.0))
    shape = numpyro.sample("shape", dist.Gamma(2.0, 1.0))
    with (
        numpyro.plate("columns", y.shape[1], dim=-1),
        numpyro.plate("rows", len(y), subsample_size=batch, dim=-2) as i,
    ):
        mean = numpyro.sample("mean", dist.Gamma(shape, rate))
        numpyro.sample("y", dist.Poisson(mean), obs=y[i])


def shares(y, batch=None):
    """A simplex of each row, on which a vector of observations depends; half of it is weighed."""
    width = numpyro.sample("width", dist.HalfNormal(1.0))
    slope = numpyro.sample("slope", dist.Normal(jnp.zeros(2), 1.0).to_event(1))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        share = numpyro.sample("share", dist.Dirichlet(jnp.ones(3)))
        effect = numpyro.sample("effect", dist.Normal(0.0, width))
        with numpyro.handlers.scale(scale=0.5):
            mean = share[:, :2] * slope + effect[:, None]
            numpyro.sample("y", dist.Normal(mean, 1.0).to_event(1), obs=y[i])


def untuned(model, y, batch, num_warmup=300, num_samples=1_000):
    """Return a finished run of `SGHMCSplit(model)` as it is, with four chains."""
    mcmc = MCMC(
        SGHMCSplit(model),
        num_warmup=num_warmup,
        num_samples=num_samples,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(1), jnp.asarray(y), batch)
    return mcmc
