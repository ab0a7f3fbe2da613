"""Samplers of topics: SGHMC by splitting and Euler, SGLD, and a Gibbs sampler as a reference."""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.papers.latent_runs import chain
from benchmarks.papers.p000_lda import (
    SHARE,
    SPARSE,
    TOPICS,
    WORDS,
    documents,
    model,
    topics_of,
)
from numpyro_sgmcmc import Hamiltonian, Langevin, Splitting
from numpyro_sgmcmc.latents import PlainAtLatents, first_state
from numpyro_sgmcmc.model import read_structure, stochastic_potential
from numpyro_sgmcmc.preconditioner import Identity
from numpyro_sgmcmc.transition import Transition

BATCH, FRICTION = 50, 40.0
PROPOSAL = 0.5
"""Scale of the proposals of a document's shares on the unconstrained space."""
DYNAMICS: dict[str, Any] = {
    "splitting": Splitting(FRICTION),
    "hamiltonian": Hamiltonian(FRICTION),
    "langevin": Langevin(),
}


def starts(chains: int) -> jax.Array:
    """Return logarithms of weights at which the chains of all samplers start, (chains, d)."""
    return jax.random.normal(jax.random.key(1), (chains, TOPICS * WORDS))


@cache
def sampler(name: str, steps: int, kept: int) -> Any:
    """Return the function from step size, key and start to kept draws, divergence, acceptance."""
    counts = jnp.asarray(documents().training)
    structure = read_structure(model, (counts, BATCH), {})
    potential = stochastic_potential(structure, (counts, BATCH), {})
    transition, rows = Transition(DYNAMICS[name], PlainAtLatents(), Identity()), len(counts)

    of_start = chain(potential, transition, BATCH, steps, kept, topics_of)

    def run(h: jax.Array, key: jax.Array, start: jax.Array) -> tuple[jax.Array, ...]:
        width = structure.local.dimension
        factor = jnp.broadcast_to(PROPOSAL * jnp.eye(width), (rows, width, width))
        state = first_state(
            potential, start, jnp.zeros((rows, width)), factor, jnp.ones(()), has_table=False
        )
        return of_start(h, key, start, state)

    return jax.jit(jax.vmap(jax.vmap(run, (None, 0, 0)), (0, None, None)))


@cache
def gibbs(sweeps: int, kept: int) -> Any:
    """Return the function from a key and a start to draws of topics by an exact Gibbs sampler.

    It draws the topic of each word, then shares and topics from their Dirichlet distributions.
    """
    counts = np.asarray(documents().training, int)
    document, word = np.nonzero(counts)
    times = counts[document, word]
    document, word = (jnp.asarray(np.repeat(x, times)) for x in (document, word))

    def run(key: jax.Array, start: jax.Array) -> jax.Array:
        def sweep(carry: Any, key: jax.Array) -> tuple[Any, None]:
            share, topics = carry
            key_topic, key_share, key_words = jax.random.split(key, 3)
            chance = jnp.log(share[document]) + jnp.log(topics[:, word].T)
            one = jax.nn.one_hot(jax.random.categorical(key_topic, chance), TOPICS)
            by_document = jnp.zeros((len(counts), TOPICS)).at[document].add(one)
            by_word = jnp.zeros((WORDS, TOPICS)).at[word].add(one)
            share = jax.random.dirichlet(key_share, SHARE + by_document)
            topics = jax.random.dirichlet(key_words, SPARSE + by_word.T)
            return (jnp.maximum(share, 1e-30), jnp.maximum(topics, 1e-30)), None

        def block(carry: Any, key: jax.Array) -> tuple[Any, jax.Array]:
            carry, _ = jax.lax.scan(sweep, carry, jax.random.split(key, sweeps // (2 * kept)))
            return carry, carry[1]

        first = jnp.full((len(counts), TOPICS), 1 / TOPICS), topics_of(start)
        return jax.lax.scan(block, first, jax.random.split(key, 2 * kept))[1][kept:]

    return jax.jit(jax.vmap(run))
