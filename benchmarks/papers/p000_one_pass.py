"""One pass over documents: each minibatch is new, and its words' topics are drawn from scratch."""

from dataclasses import dataclass
from functools import cache
from typing import Any, final

import jax
import jax.numpy as jnp

from benchmarks.papers.p000_corpus import SHARE, SPARSE, TOPICS, WORDS, corpus
from numpyro_sgmcmc import Hamiltonian, Langevin, Splitting
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor, Estimate
from numpyro_sgmcmc.preconditioner import Identity
from numpyro_sgmcmc.pytree import as_pytree
from numpyro_sgmcmc.transition import Transition, Walker
from numpyro_sgmcmc.types import Minibatch, WholeData

BATCH, FRICTION = 100, 400.0
SWEEPS, KEPT = 4, 2
"""Sweeps over the words of a minibatch, and those at the end that the gradient averages."""
DYNAMICS: dict[str, Any] = {
    "splitting": Splitting(FRICTION),
    "hamiltonian": Hamiltonian(FRICTION),
    "langevin": Langevin(),
}


def assignments(
    key: jax.Array, topics: jax.Array, words: jax.Array, sweeps: int = SWEEPS, kept: int = KEPT
) -> jax.Array:
    """Return mean probabilities of topics of words, (LENGTH, B, topics), by collapsed Gibbs sweeps.

    The first sweep draws the topic of each word given those of the words before it. Each later one
    draws it given those of all other words of its document, with the document's shares integrated
    out; the last sweeps' conditional probabilities are averaged.

    Args:
        key: a random key.
        topics: the distributions of words, (topics, words).
        words: numbers of words by document, (B, LENGTH).
        sweeps: sweeps over the words.
        kept: sweeps at the end over which probabilities are averaged.
    """
    chance = topics.T[words.T]
    nothing = jnp.zeros_like(chance)

    def of_word(counts: jax.Array, given: tuple[jax.Array, ...]) -> tuple[jax.Array, Any]:
        chance, old, uniform = given
        others = counts - old
        sums = jnp.cumsum((SHARE + others) * chance, axis=1)
        below = (sums <= uniform[:, None] * sums[:, -1:])[:, :-1].astype(sums.dtype)
        edges = jnp.pad(below, ((0, 0), (1, 1)), constant_values=((0, 0), (1, 0)))
        new = edges[:, :-1] - edges[:, 1:]
        probability = (SHARE + others) * chance / sums[:, -1:]
        return others + new, (new, probability)

    def sweep(carry: tuple[jax.Array, ...], given: Any) -> tuple[Any, None]:
        counts, old, total = carry
        key, weight = given
        uniform = jax.random.uniform(key, chance.shape[:2])
        counts, (new, probability) = jax.lax.scan(of_word, counts, (chance, old, uniform))
        return (counts, new, total + weight * probability), None

    weights = jnp.where(jnp.arange(sweeps) < sweeps - kept, 0.0, 1.0 / kept)
    first = jnp.zeros((len(words), TOPICS)), nothing, nothing
    return jax.lax.scan(sweep, first, (jax.random.split(key, sweeps), weights))[0][2]


@final
@as_pytree()
@dataclass(frozen=True)
class FreshAssignments(AbstractGradient):
    """The gradient in logarithms of weights, at topics of a new minibatch's words.

    With n_kw the expected number of words w of topic k, scaled to all documents, and n_k their sum
    over words, the gradient of the potential is exp(z_kw) - SPARSE - n_kw + n_k softmax(z_k)_w.
    """

    words: jax.Array

    def init(self, whole: WholeData, position: jax.Array, anchor: Anchor | None) -> tuple[()]:
        """Return nothing: a minibatch is seen once."""
        return ()

    def estimate(
        self, potential: Any, position: jax.Array, minibatch: Minibatch, state: tuple[()]
    ) -> tuple[Estimate, tuple[()]]:
        """Return the gradient; the potential is not evaluated, and is given as 0."""
        assert minibatch.key is not None
        rows = minibatch.indices["documents"]
        words = self.words[rows].astype(jnp.int32)
        logarithms = position.reshape(TOPICS, WORDS)
        topics = jax.nn.softmax(logarithms, axis=1)
        found = assignments(minibatch.key, topics, words) * (len(self.words) / len(rows))
        counts = jnp.zeros((WORDS, TOPICS)).at[words.T].add(found).T
        expected = counts.sum(1, keepdims=True) * topics
        gradient = jnp.exp(logarithms) - SPARSE - counts + expected
        return Estimate(jnp.zeros(()), gradient.reshape(-1)), state


@cache
def one_pass(name: str, documents: int, draws: int) -> Any:
    """Return the function from step size and keys of chains to draws of topics, and divergences.

    Each chain goes over all documents once, in minibatches of neighbours in a random order, and
    its topics are kept at so many equally spaced times: (chains, draws, topics, words).
    """
    words = jnp.asarray(corpus(documents).training)
    dynamics, gradient = DYNAMICS[name], FreshAssignments(words)
    transition: Any = Transition(dynamics, gradient, Identity())
    minibatches = documents // BATCH

    def run(h: jax.Array, key: jax.Array, start: jax.Array) -> tuple[jax.Array, jax.Array]:
        key_aux, key_order, key_steps = jax.random.split(key, 3)
        walker = Walker(start, dynamics.init(key_aux, start, 1.0), ())

        def body(carry: Any, given: Any) -> tuple[Any, None]:
            walker, bad = carry
            key, number = given
            key_noise, key_words = jax.random.split(key)
            rows = number * BATCH + jnp.arange(BATCH)
            noise = jnp.sqrt(h) * jax.random.normal(key_noise, start.shape)
            moved = transition.step(
                None, walker, Minibatch({"documents": rows}, key_words), noise, h
            )
            return (moved.walker, bad | moved.diverging), None

        def block(carry: Any, given: Any) -> tuple[Any, jax.Array]:
            carry, _ = jax.lax.scan(body, carry, given)
            return carry, jax.nn.softmax(carry[0].position.reshape(TOPICS, WORDS), axis=1)

        order = jax.random.permutation(key_order, minibatches).reshape(draws, -1)
        keys = jax.random.split(key_steps, (draws, minibatches // draws))
        carry = walker, jnp.zeros((), bool)
        (_, bad), topics = jax.lax.scan(block, carry, (keys, order))
        return topics, bad

    return jax.jit(jax.vmap(run, (None, 0, 0)))
