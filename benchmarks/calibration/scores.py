"""Held-out rows: where single parameters mean nothing, predictions are compared."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.diagnostics import effective_sample_size

from benchmarks.calibration import models

ROWS_LOOKED_AT = 100


class Score(NamedTuple):
    """A figure of the posterior predictive law and its Monte Carlo standard error."""

    value: float
    mcse: float


class Predictions(NamedTuple):
    """Of held-out rows, both of shape (chains, draws, rows).

    Attributes:
        log_likelihood: log p(row | draw).
        fitted: a number that the draw says of the row.
    """

    log_likelihood: np.ndarray
    fitted: np.ndarray


def film_ratings(draw: Mapping[str, Any], user: Any, film: Any, rating: Any) -> tuple:
    """Return log likelihoods and expected ratings."""
    sites = ("mean", "user_bias", "film_bias", "user_factor", "film_factor")
    fitted = models.ratings(**{name: draw[name] for name in sites}, user=user, film=film)
    return dist.Normal(fitted, draw["noise"]).log_prob(rating), fitted


def digits(draw: Mapping[str, Any], pixels: Any, label: Any) -> tuple:
    """Return log probabilities of the true classes, twice."""
    true = dist.CategoricalLogits(_logits(draw, pixels)).log_prob(label)
    return true, true


def digit_classes(draw: Mapping[str, Any], pixels: Any, label: Any) -> jax.Array:
    """Return the probability of each class, (rows, classes)."""
    return jax.nn.softmax(_logits(draw, pixels))


def _logits(draw: Mapping[str, Any], pixels: Any) -> jax.Array:
    sites = ("inner", "inner_bias", "outer", "outer_bias")
    return models.classes(**{name: draw[name] for name in sites}, pixels=pixels)


def predictions(predict: Callable, samples: Mapping[str, Any], held_out: tuple) -> Predictions:
    """Return what the draws of all chains say of held-out rows."""
    rows = tuple(map(jnp.asarray, held_out))

    @jax.jit
    def of_chain(draws: Mapping[str, jax.Array]) -> tuple:
        return jax.lax.map(lambda draw: predict(draw, *rows), draws)

    found = [of_chain(draws) for draws in _chains(samples)]
    return Predictions(
        *(np.stack([np.asarray(x) for x in part]) for part in zip(*found, strict=True))
    )


def class_probabilities(
    classify: Callable, samples: Mapping[str, Any], held_out: tuple
) -> np.ndarray:
    """Return the posterior predictive probability of each held-out row's classes."""
    rows = tuple(map(jnp.asarray, held_out))

    @jax.jit
    def of_chain(draws: Mapping[str, jax.Array]) -> jax.Array:
        # A table of all draws, rows and classes would be large.
        first = jax.tree.map(lambda x: x[0], draws)
        start = jnp.zeros_like(classify(first, *rows))
        add = lambda total, draw: (total + classify(draw, *rows), None)  # noqa: E731
        return jax.lax.scan(add, start, draws)[0] / len(jax.tree.leaves(draws)[0])

    return np.mean([np.asarray(of_chain(draws), np.float64) for draws in _chains(samples)], axis=0)


def _chains(samples: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    count = len(next(iter(samples.values())))
    return [{name: x[chain] for name, x in samples.items()} for chain in range(count)]


def functionals(found: Predictions) -> dict[str, np.ndarray]:
    """Return scalars that relabelling and rotation leave alone, (chains, draws) by name."""
    rows = {f"fitted[{row}]": found.fitted[..., row] for row in range(ROWS_LOOKED_AT)}
    return {"log_likelihood": found.log_likelihood.mean(-1), **rows}


def log_score(found: Predictions) -> Score:
    """Return the mean over rows of the log of the predictive density."""
    values = found.log_likelihood.astype(np.float64)
    top = values.max((0, 1))
    relative = np.exp(values - top)
    means = relative.mean((0, 1))
    return Score(float((top + np.log(means)).mean()), _error((relative / means).mean(-1)))


def root_mean_square(found: Predictions, response: np.ndarray) -> Score:
    """Return the error of the fitted values' means."""
    fitted = found.fitted.astype(np.float64)
    error = response - fitted.mean((0, 1))
    root = float(np.sqrt((error**2).mean()))
    return Score(root, _error(fitted @ error / len(error) / root))


def _error(influence: np.ndarray) -> float:
    """Return the standard error of a mean of draws, (chains, draws)."""
    return float(influence.std() / np.sqrt(effective_sample_size(influence)))
