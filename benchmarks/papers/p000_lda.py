"""Documents simulated from latent Dirichlet allocation, the model of their words, and scores."""

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from scipy.optimize import linear_sum_assignment

TOPICS, WORDS, LENGTH = 5, 100, 60
"""Topics, words of the vocabulary, and words of a document."""
TRAINING, TEST = 500, 200
SHARE, SPARSE = 0.3, 0.3
"""Parameters of the Dirichlet distributions of a document's topics, and of a topic's words."""
INFERENCES = 40
"""Steps in which the topics of a test document are inferred."""


class Documents(NamedTuple):
    """Counts of words by document.

    Attributes:
        training: (documents, words).
        seen: of one half of each test document, from which its topics are inferred.
        scored: of the other half.
        topics: the distributions from which words were drawn, (topics, words).
    """

    training: np.ndarray
    seen: np.ndarray
    scored: np.ndarray
    topics: np.ndarray


@cache
def documents() -> Documents:
    """Return documents drawn from the model."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(WORDS, SPARSE), TOPICS)
    shares = rng.dirichlet(np.full(TOPICS, SHARE), TRAINING + TEST) @ topics
    counts = rng.multinomial(LENGTH, shares[:TRAINING])
    halves = [rng.multinomial(LENGTH // 2, shares[TRAINING:]) for _ in range(2)]
    return Documents(counts.astype(np.float32), *(h.astype(np.float32) for h in halves), topics)


def model(counts: jax.Array, batch: int) -> None:
    """Words of a document given its topics' shares; the topic of each word is summed out.

    Gamma variables over their sum are Dirichlet ones, and on the unconstrained space they are the
    paper's parametrisation: a topic is the softmax of real numbers.
    """
    with numpyro.plate("topics", TOPICS, dim=-2), numpyro.plate("words", WORDS, dim=-1):
        weight = numpyro.sample("weight", dist.Gamma(SPARSE, 1.0))
    topics = weight / weight.sum(1, keepdims=True)
    with numpyro.plate("documents", counts.shape[0], subsample_size=batch) as i:
        share = numpyro.sample("share", dist.Dirichlet(jnp.full(TOPICS, SHARE)))
        log = jnp.log(share @ topics)
        numpyro.factor("counts", jnp.sum(counts[i] * log, axis=1))


def topics_of(position: jax.Array) -> jax.Array:
    """Return topics from logarithms of weights, (..., topics, words) from (..., d)."""
    return jax.nn.softmax(position.reshape(*position.shape[:-1], TOPICS, WORDS), axis=-1)


@jax.jit
def log_likelihoods(topics: jax.Array) -> jax.Array:
    """Return log p of the scored halves by document, from draws of topics, (draws, topics, words).

    The shares of a document are inferred from the seen half by mean-field coordinate ascent (Blei,
    Ng and Jordan 2003), for each draw; the predictive probabilities are averaged over draws.
    """
    data = documents()
    seen, scored = jnp.asarray(data.seen), jnp.asarray(data.scored)

    def predicted(topics: jax.Array) -> jax.Array:
        def body(_: int, concentration: jax.Array) -> jax.Array:
            digamma = jax.scipy.special.digamma
            weight = jnp.exp(digamma(concentration) - digamma(concentration.sum(1, keepdims=True)))
            ratio = seen / (weight @ topics)
            return SHARE + weight * (ratio @ topics.T)

        first = jnp.full((TEST, TOPICS), SHARE + LENGTH / 2 / TOPICS)
        found = jax.lax.fori_loop(0, INFERENCES, body, first)
        return found / found.sum(1, keepdims=True) @ topics

    mean = jax.lax.map(predicted, topics).mean(0)
    return jnp.sum(scored * jnp.log(mean), axis=1)


def perplexity(topics: np.ndarray) -> float:
    """Return exp of the negative mean log probability of a scored word."""
    each = np.asarray(log_likelihoods(jnp.asarray(topics, jnp.float32)), np.float64)
    return float(np.exp(-each.sum() / documents().scored.sum()))


def distance(topics: np.ndarray, true: np.ndarray | None = None) -> float:
    """Return the mean total variation to the true topics, matched to have the least."""
    true = documents().topics if true is None else true
    each = np.abs(topics[:, None] - true[None]).sum(2) / 2
    return float(each[linear_sum_assignment(each)].mean())
