"""The models. Each has one plate over rows; `subsample_size=None` is all of them."""

from typing import Any

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from benchmarks.calibration.data import GROUPS

RANK = 5
HIDDEN = 50
CLASSES = 10


def _normal(name: str, scale: float, *shape: int) -> Any:
    prior = dist.Normal(0.0, scale)
    return numpyro.sample(name, prior.expand(shape).to_event(len(shape)))


def logistic(features, response, subsample_size=None):
    intercept = _normal("intercept", 2.0)
    coefficients = _normal("coefficients", 1.0, features.shape[1])
    with numpyro.plate("rows", len(features), subsample_size=subsample_size) as rows:
        logits = intercept + features[rows] @ coefficients
        numpyro.sample("response", dist.Bernoulli(logits=logits), obs=response[rows])


def logistic_of_counts(features, trials, successes):
    """`logistic` with equal rows counted: the same posterior."""
    intercept = _normal("intercept", 2.0)
    coefficients = _normal("coefficients", 1.0, features.shape[1])
    logits = intercept + features @ coefficients
    numpyro.sample("successes", dist.Binomial(trials, logits=logits), obs=successes)


def poisson(features, response, subsample_size=None):
    intercept = _normal("intercept", 2.0)
    coefficients = _normal("coefficients", 1.0, features.shape[1])
    with numpyro.plate("rows", len(features), subsample_size=subsample_size) as rows:
        rate = jnp.exp(intercept + features[rows] @ coefficients)
        numpyro.sample("response", dist.Poisson(rate), obs=response[rows])


def student_t(features, response, subsample_size=None):
    intercept = _normal("intercept", 2.0)
    coefficients = _normal("coefficients", 1.0, features.shape[1])
    scale = numpyro.sample("scale", dist.HalfNormal(2.0))
    freedom = numpyro.sample("freedom", dist.Gamma(2.0, 0.1))
    with numpyro.plate("rows", len(features), subsample_size=subsample_size) as rows:
        mean = intercept + features[rows] @ coefficients
        numpyro.sample("response", dist.StudentT(freedom, mean, scale), obs=response[rows])


def centred(group, response, subsample_size=None):
    mean, spread, noise = _hyperparameters()
    prior = dist.Normal(mean, spread).expand([GROUPS]).to_event(1)
    intercepts = numpyro.sample("intercepts", prior)
    _grouped(intercepts, noise, group, response, subsample_size)


def non_centred(group, response, subsample_size=None):
    mean, spread, noise = _hyperparameters()
    raw = _normal("raw", 1.0, GROUPS)
    intercepts = numpyro.deterministic("intercepts", mean + spread * raw)
    _grouped(intercepts, noise, group, response, subsample_size)


def grouped_by_moments(sizes, means, squares):
    """`centred` and `non_centred` through each group's size, mean and sum of squares about it."""
    mean, spread, noise = _hyperparameters()
    raw = _normal("raw", 1.0, GROUPS)
    intercepts = numpyro.deterministic("intercepts", mean + spread * raw)
    about = squares + sizes * (means - intercepts) ** 2
    numpyro.factor("rows", -jnp.sum(about) / (2 * noise**2) - sizes.sum() * jnp.log(noise))


def _hyperparameters():
    mean = _normal("mean", 2.0)
    spread = numpyro.sample("spread", dist.HalfNormal(1.0))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    return mean, spread, noise


def _grouped(intercepts, noise, group, response, subsample_size):
    with numpyro.plate("rows", len(group), subsample_size=subsample_size) as rows:
        likelihood = dist.Normal(intercepts[group[rows]], noise)
        numpyro.sample("response", likelihood, obs=response[rows])


def gaussian(features, response, axes, subsample_size=None):
    """Known noise; the principal coordinates are looked at too, as the wide ones hide the rest."""
    coefficients = _normal("coefficients", 10.0, features.shape[1])
    numpyro.deterministic("principal", coefficients @ axes)
    with numpyro.plate("rows", len(features), subsample_size=subsample_size) as rows:
        numpyro.sample("response", dist.Normal(features[rows] @ coefficients), obs=response[rows])


def factorisation(user, film, rating, *, users, films, subsample_size=None):
    mean = numpyro.sample("mean", dist.Normal(3.5, 1.0))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    biases = _normal("user_bias", 0.5, users), _normal("film_bias", 0.5, films)
    factors = _normal("user_factor", 0.5, users, RANK), _normal("film_factor", 0.5, films, RANK)
    with numpyro.plate("rows", len(user), subsample_size=subsample_size) as rows:
        fitted = ratings(mean, *biases, *factors, user[rows], film[rows])
        numpyro.sample("rating", dist.Normal(fitted, noise), obs=rating[rows])


def ratings(mean, user_bias, film_bias, user_factor, film_factor, user, film):
    """Return the expected rating of each row."""
    return (
        mean
        + user_bias[user]
        + film_bias[film]
        + jnp.sum(user_factor[user] * film_factor[film], axis=-1)
    )


def network(pixels, label, subsample_size=None):
    inner = _normal("inner", 1.0, pixels.shape[1], HIDDEN), _normal("inner_bias", 1.0, HIDDEN)
    outer = _normal("outer", 1.0, HIDDEN, CLASSES), _normal("outer_bias", 1.0, CLASSES)
    with numpyro.plate("rows", len(pixels), subsample_size=subsample_size) as rows:
        logits = classes(*inner, *outer, pixels[rows])
        numpyro.sample("label", dist.CategoricalLogits(logits), obs=label[rows])


def classes(inner, inner_bias, outer, outer_bias, pixels):
    """Return the logits of each row's classes."""
    return jnp.tanh(pixels @ inner + inner_bias) @ outer + outer_bias
