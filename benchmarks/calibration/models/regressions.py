"""Tall regressions."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from benchmarks.calibration.models.priors import line, normal


def logistic(features, response, subsample_size=None):
    intercept, coefficients = line(features.shape[1])
    with numpyro.plate("rows", len(features), subsample_size=subsample_size) as rows:
        logits = intercept + features[rows] @ coefficients
        numpyro.sample("response", dist.Bernoulli(logits=logits), obs=response[rows])


def poisson(features, response, subsample_size=None):
    intercept, coefficients = line(features.shape[1])
    with numpyro.plate("rows", len(features), subsample_size=subsample_size) as rows:
        rate = jnp.exp(intercept + features[rows] @ coefficients)
        numpyro.sample("response", dist.Poisson(rate), obs=response[rows])


def student_t(features, response, subsample_size=None):
    intercept, coefficients = line(features.shape[1])
    scale = numpyro.sample("scale", dist.HalfNormal(2.0))
    freedom = numpyro.sample("freedom", dist.Gamma(2.0, 0.1))
    with numpyro.plate("rows", len(features), subsample_size=subsample_size) as rows:
        mean = intercept + features[rows] @ coefficients
        numpyro.sample("response", dist.StudentT(freedom, mean, scale), obs=response[rows])


def gaussian(features, response, axes, subsample_size=None):
    """Known noise; the principal coordinates are looked at too, as the wide ones hide the rest."""
    coefficients = normal("coefficients", 10.0, features.shape[1])
    numpyro.deterministic("principal", coefficients @ axes)
    with numpyro.plate("rows", len(features), subsample_size=subsample_size) as rows:
        numpyro.sample("response", dist.Normal(features[rows] @ coefficients), obs=response[rows])
