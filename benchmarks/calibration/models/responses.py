"""Regressions with quantiles, ordered classes, classes and overdispersed counts as responses."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.distributions.transforms import OrderedTransform

from benchmarks.calibration.models.priors import line, normal

CLASSES = 5
BRANCHES = 4


def quantile(features, response, subsample_size=None):
    """Regression of the 0.9 quantile."""
    intercept, coefficients = line(features.shape[1])
    scale = numpyro.sample("scale", dist.HalfNormal(2.0))
    with numpyro.plate("rows", len(features), subsample_size=subsample_size) as rows:
        fitted = intercept + features[rows] @ coefficients
        likelihood = dist.AsymmetricLaplaceQuantile(fitted, scale, 0.9)
        numpyro.sample("response", likelihood, obs=response[rows])


def ordinal(features, response, subsample_size=None):
    coefficients = normal("coefficients", 1.0, features.shape[1])
    base = dist.Normal(0.0, 2.0).expand([CLASSES - 1]).to_event(1)
    cuts = numpyro.sample("cuts", dist.TransformedDistribution(base, OrderedTransform()))
    with numpyro.plate("rows", len(features), subsample_size=subsample_size) as rows:
        likelihood = dist.OrderedLogistic(features[rows] @ coefficients, cuts)
        numpyro.sample("response", likelihood, obs=response[rows])


def negative_binomial(features, response, subsample_size=None):
    intercept, coefficients = line(features.shape[1])
    concentration = numpyro.sample("concentration", dist.Gamma(2.0, 0.1))
    with numpyro.plate("rows", len(features), subsample_size=subsample_size) as rows:
        mean = jnp.exp(intercept + features[rows] @ coefficients)
        likelihood = dist.NegativeBinomial2(mean, concentration)
        numpyro.sample("response", likelihood, obs=response[rows])


def multinomial(features, response, subsample_size=None):
    """Four classes; the first has logit 0."""
    intercepts, coefficients = class_lines(features.shape[1])
    with numpyro.plate("rows", len(features), subsample_size=subsample_size) as rows:
        logits = class_logits(intercepts, coefficients, features[rows])
        numpyro.sample("response", dist.CategoricalLogits(logits), obs=response[rows])


def class_lines(columns):
    """Sample the intercepts and the coefficients of all classes but the first."""
    intercepts = normal("intercepts", 2.0, BRANCHES - 1)
    return intercepts, normal("coefficients", 1.0, columns, BRANCHES - 1)


def class_logits(intercepts, coefficients, features):
    """Return the logits of each row's classes."""
    others = intercepts + features @ coefficients
    return jnp.concatenate([jnp.zeros_like(others[:, :1]), others], axis=1)
