"""A Gaussian process by its features, and one factor, integrated out."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.calibration.models.priors import normal

FEATURES = 20
HALF_WIDTH = 1.5
FREQUENCY = np.arange(1, FEATURES + 1) * np.pi / (2 * HALF_WIDTH)


def gaussian_process(place, response, subsample_size=None):
    """A squared-exponential covariance, approximated by eigenfunctions of [-1.5, 1.5]."""
    weights = curve_weights()
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    with numpyro.plate("rows", len(place), subsample_size=subsample_size) as rows:
        fitted = curve_features(place[rows]) @ weights
        numpyro.sample("response", dist.Normal(fitted, noise), obs=response[rows])


def curve_weights():
    """Sample amplitude, length scale and the features' weights (Solin and Särkkä 2020)."""
    amplitude = numpyro.sample("amplitude", dist.HalfNormal(1.0))
    length = numpyro.sample("length", dist.LogNormal(-1.0, 0.5))
    raw = normal("raw", 1.0, FEATURES)
    density = jnp.sqrt(2 * jnp.pi) * length * jnp.exp(-((length * FREQUENCY) ** 2) / 2)
    return numpyro.deterministic("weights", amplitude * jnp.sqrt(density) * raw)


def curve_features(place):
    """Return each place's eigenfunctions, (rows, FEATURES)."""
    return jnp.sin(FREQUENCY * (place[:, None] + HALF_WIDTH)) / jnp.sqrt(HALF_WIDTH)


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
