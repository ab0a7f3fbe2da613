"""Regressions whose design or bounds make a posterior awkward."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from benchmarks.calibration.models.priors import line, normal

RELEVANT = 10
SLAB_FREEDOM, SLAB_SCALE = 4.0, 2.0


def _observed(intercept, coefficients, noise, features, response, subsample_size):
    with numpyro.plate("rows", len(features), subsample_size=subsample_size) as rows:
        fitted = intercept + features[rows] @ coefficients
        numpyro.sample("response", dist.Normal(fitted, noise), obs=response[rows])


def uniform_bound(features, response, subsample_size=None):
    prior = dist.Uniform(0.0, 1.0).expand([features.shape[1]]).to_event(1)
    weights = numpyro.sample("weights", prior)
    noise = numpyro.sample("noise", dist.HalfNormal(2.0))
    _observed(0.0, weights, noise, features, response, subsample_size)


def separation(features, response, subsample_size=None):
    intercept = normal("intercept", 2.5)
    coefficients = normal("coefficients", 2.5, features.shape[1])
    with numpyro.plate("rows", len(features), subsample_size=subsample_size) as rows:
        logits = intercept + features[rows] @ coefficients
        numpyro.sample("response", dist.Bernoulli(logits=logits), obs=response[rows])


def t3(features, response, subsample_size=None):
    intercept, coefficients = line(features.shape[1])
    noise = numpyro.sample("noise", dist.HalfNormal(2.0))
    _observed(intercept, coefficients, noise, features, response, subsample_size)


def scaled(features, response, subsample_size=None):
    intercept = normal("intercept", 1e6)
    coefficients = normal("coefficients", 1e5, features.shape[1])
    noise = numpyro.sample("noise", dist.HalfNormal(2.0))
    _observed(intercept, coefficients, noise, features, response, subsample_size)


def horseshoe(features, response, subsample_size=None):
    coefficients = regularised_horseshoe(*features.shape)
    intercept = normal("intercept", 2.0)
    noise = numpyro.sample("noise", dist.HalfNormal(2.0))
    _observed(intercept, coefficients, noise, features, response, subsample_size)


def regularised_horseshoe(rows, columns):
    """Sample coefficients as Piironen and Vehtari (2017), ten being expected to matter."""
    expected = RELEVANT / (columns - RELEVANT) / jnp.sqrt(rows)
    overall = numpyro.sample("overall", dist.HalfCauchy(expected))
    local = numpyro.sample("local", dist.HalfCauchy(1.0).expand([columns]).to_event(1))
    half = SLAB_FREEDOM / 2
    slab = numpyro.sample("slab", dist.InverseGamma(half, half * SLAB_SCALE**2))
    raw = normal("raw", 1.0, columns)
    kept = overall * local * jnp.sqrt(slab / (slab + (overall * local) ** 2))
    return numpyro.deterministic("coefficients", raw * kept)
