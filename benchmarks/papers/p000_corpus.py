"""Very many documents simulated from latent Dirichlet allocation, as words in a row, and scores."""

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.papers.p000_lda import INFERENCES

TOPICS, WORDS, LENGTH = 5, 500, 40
"""Topics, words of the vocabulary, and words of a document."""
TEST = 500
SHARE, SPARSE = 0.3, 0.1
"""Parameters of the Dirichlet distributions of a document's topics, and of a topic's words."""


class Corpus(NamedTuple):
    """Documents, each a row of numbers of words in the vocabulary.

    Attributes:
        training: (documents, LENGTH).
        seen: one half of each test document, which tells its topics, (TEST, LENGTH / 2).
        scored: the other half.
        topics: the distributions from which words were drawn, (topics, words).
    """

    training: np.ndarray
    seen: np.ndarray
    scored: np.ndarray
    topics: np.ndarray


@cache
def corpus(documents: int) -> Corpus:
    """Return documents drawn from the model, and as many test documents whatever their number."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(WORDS, SPARSE), TOPICS)
    seen, scored = np.split(_drawn(rng, topics, TEST), 2, axis=1)
    return Corpus(_drawn(rng, topics, documents), seen, scored, topics)


def _drawn(rng: np.random.Generator, topics: np.ndarray, documents: int) -> np.ndarray:
    """Return words of documents: of each a topic from its shares, then the word from the topic."""
    shares = rng.dirichlet(np.full(TOPICS, SHARE), documents)
    uniform = rng.random((documents, LENGTH, 1), np.float32)
    topic = np.sum(uniform > np.cumsum(shares, axis=1)[:, None, :-1], axis=2)
    words = np.empty((documents, LENGTH), np.int16)
    for k, chances in enumerate(topics):
        here = topic == k
        edges = np.cumsum(chances)[:-1]
        words[here] = np.searchsorted(edges, rng.random(int(here.sum())), side="right")
    return words


@jax.jit
def predicted(topics: jax.Array, seen: jax.Array, scored: jax.Array) -> jax.Array:
    """Return probabilities of scored words given the seen words of the same document.

    The shares of a document are inferred by mean-field coordinate ascent, as in `p000_lda`.
    """
    digamma = jax.scipy.special.digamma
    chance = topics.T[seen]

    def body(_: int, concentration: jax.Array) -> jax.Array:
        weight = jnp.exp(digamma(concentration))
        each = weight[:, None] * chance
        return SHARE + jnp.sum(each / jnp.sum(each, axis=2, keepdims=True), axis=1)

    first = jnp.full((len(seen), TOPICS), SHARE + seen.shape[1] / TOPICS)
    found = jax.lax.fori_loop(0, INFERENCES, body, first)
    share = found / found.sum(1, keepdims=True)
    return jnp.einsum("dk,dwk->dw", share, topics.T[scored])


def perplexity(chances: np.ndarray) -> float:
    """Return exp of the negative mean log probability of a scored word."""
    return float(np.exp(-np.mean(np.log(np.asarray(chances, np.float64)))))
