"""Models whose parameters mean nothing one by one."""

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from benchmarks.calibration.models.priors import normal

RANK = 5
HIDDEN = 50
CLASSES = 10


def factorisation(user, film, rating, *, users, films, subsample_size=None):
    mean = numpyro.sample("mean", dist.Normal(3.5, 1.0))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    biases = normal("user_bias", 0.5, users), normal("film_bias", 0.5, films)
    factors = normal("user_factor", 0.5, users, RANK), normal("film_factor", 0.5, films, RANK)
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
    inner = normal("inner", 1.0, pixels.shape[1], HIDDEN), normal("inner_bias", 1.0, HIDDEN)
    outer = normal("outer", 1.0, HIDDEN, CLASSES), normal("outer_bias", 1.0, CLASSES)
    with numpyro.plate("rows", len(pixels), subsample_size=subsample_size) as rows:
        logits = classes(*inner, *outer, pixels[rows])
        numpyro.sample("label", dist.CategoricalLogits(logits), obs=label[rows])


def classes(inner, inner_bias, outer, outer_bias, pixels):
    """Return the logits of each row's classes."""
    return jnp.tanh(pixels @ inner + inner_bias) @ outer + outer_bias
