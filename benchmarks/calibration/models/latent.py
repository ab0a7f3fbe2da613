"""A Gaussian process by its features, and one factor, integrated out."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from benchmarks.calibration.models.priors import normal

FEATURES = 20
HALF_WIDTH = 1.5


def gaussian_process(place, response, subsample_size=None):
    """The eigenfunctions of [-1.5, 1.5] with squared-exponential weights (Solin, Särkkä 2020)."""
    amplitude = numpyro.sample("amplitude", dist.HalfNormal(1.0))
    length = numpyro.sample("length", dist.LogNormal(-1.0, 0.5))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    raw = normal("raw", 1.0, FEATURES)
    frequency = jnp.arange(1, FEATURES + 1) * jnp.pi / (2 * HALF_WIDTH)
    density = jnp.sqrt(2 * jnp.pi) * length * jnp.exp(-((length * frequency) ** 2) / 2)
    weights = numpyro.deterministic("weights", amplitude * jnp.sqrt(density) * raw)
    with numpyro.plate("rows", len(place), subsample_size=subsample_size) as rows:
        features = jnp.sin(frequency * (place[rows, None] + HALF_WIDTH)) / jnp.sqrt(HALF_WIDTH)
        numpyro.sample("response", dist.Normal(features @ weights, noise), obs=response[rows])


def factor(answers, subsample_size=None):
    """The first loading is positive, because the factor's sign is arbitrary."""
    items = answers.shape[1]
    mean = normal("mean", 2.0, items)
    first = numpyro.sample("first", dist.HalfNormal(1.0))
    others = normal("others", 1.0, items - 1)
    scales = numpyro.sample("scales", dist.HalfNormal(1.0).expand([items]).to_event(1))
    loadings = jnp.concatenate([first[None], others])
    covariance = jnp.outer(loadings, loadings) + jnp.diag(scales**2)
    with numpyro.plate("rows", len(answers), subsample_size=subsample_size) as rows:
        likelihood = dist.MultivariateNormal(mean, covariance)
        numpyro.sample("answers", likelihood, obs=answers[rows])
