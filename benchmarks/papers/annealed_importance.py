"""Annealed importance sampling (Neal 2001) of the probability of an image, over hidden units."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class Network(NamedTuple):
    """Parameters of a sigmoid belief network with one layer of binary hidden units.

    Attributes:
        weight: (units, pixels).
        bias: of the hidden units, (units,).
        offset: of the pixels, (pixels,).
    """

    weight: jax.Array
    bias: jax.Array
    offset: jax.Array


Sweep = Callable[[jax.Array, Network, jax.Array, jax.Array, jax.Array], jax.Array]


def ladder(count: int) -> np.ndarray:
    """Return powers of the likelihood from 0 to 1, closer to each other near 0."""
    return np.linspace(0.0, 1.0, count + 1) ** 2


def log_likelihood(logits: jax.Array, images: jax.Array) -> jax.Array:
    """Return log p(v | h) from the logits of the pixels, both (..., pixels)."""
    return jnp.sum(images * logits - jax.nn.softplus(logits), axis=-1)


def swept(
    key: jax.Array, network: Network, images: jax.Array, hidden: jax.Array, power: jax.Array | float
) -> jax.Array:
    """Return hidden units (images, units) after a Gibbs sweep at p(h) p(v | h)^power.

    The odds exp(logit) of all pixels are kept and multiplied by exp(w) or exp(-w) where a unit
    turns: a change of rank one. A unit then costs a product, a quotient and a logarithm for each
    pixel. Logits are cut at 69 and -69.
    """
    smallest, largest = 1e-30, 1e30
    factor = jnp.exp(network.weight)
    seen = images @ network.weight.T
    logits = hidden @ network.weight + network.offset
    odds = jnp.clip(jnp.exp(logits), smallest, largest)

    def body(unit: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        hidden, odds = carry
        own = hidden[unit]
        turn = 1 - 2 * own  # 1 from off to on, -1 from on to off.
        ratio = jnp.where(own[:, None] > 0, 1 / factor[unit], factor[unit])
        other = jnp.clip(odds * ratio, smallest, largest)
        change = turn * seen[:, unit] + jnp.sum(jnp.log((1 + odds) / (1 + other)), axis=1)
        chance = jax.nn.sigmoid(turn * network.bias[unit] + power * change)
        flips = jax.random.bernoulli(jax.random.fold_in(key, unit), chance)
        hidden = hidden.at[unit].add(jnp.where(flips, turn, 0.0))
        return hidden, jnp.where(flips[:, None], other, odds)

    return jax.lax.fori_loop(0, hidden.shape[1], body, (hidden.T, odds))[0].T


def log_weights(
    key: jax.Array,
    network: Network,
    images: jax.Array,
    powers: jax.Array,
    sweep: Sweep = swept,
) -> jax.Array:
    """Return log w of one run for each image, (images,), with E w = p(v) exactly.

    Hidden units are drawn from their prior p(h) and moved by sweeps that leave
    p(h) p(v | h)^b invariant, for powers b of 0 = b_0 < ... < b_n = 1. The weight is the product of
    p(v | h_i)^(b_i+1 - b_i), with h_i the units after i sweeps. It is unbiased for p(v) for any
    number of powers; more of them make its variance less.

    Args:
        key: a random key.
        network: the parameters.
        images: pixels of 0 and 1, (images, pixels).
        powers: the powers b, (n + 1,).
        sweep: the moves.
    """
    key_first, key_sweeps = jax.random.split(key)
    shape = len(images), len(network.bias)
    first = jax.random.bernoulli(key_first, jax.nn.sigmoid(network.bias), shape)
    keys = jax.random.split(key_sweeps, len(powers) - 1)

    def body(carry: tuple[jax.Array, jax.Array], inputs: tuple) -> tuple:
        hidden, total = carry
        before, power, key = inputs
        logits = hidden @ network.weight + network.offset
        total = total + (power - before) * log_likelihood(logits, images)
        return (sweep(key, network, images, hidden, power), total), None

    carry = first.astype(images.dtype), jnp.zeros(len(images), images.dtype)
    return jax.lax.scan(body, carry, (powers[:-1], powers[1:], keys))[0][1]


@partial(jax.jit, static_argnames="runs")
def of_draws(
    key: jax.Array, networks: Network, images: jax.Array, powers: jax.Array, runs: int = 1
) -> jax.Array:
    """Return log weights of some runs for each draw of parameters, (draws, runs, images)."""
    count = len(networks.bias)
    keys = jax.random.split(key, (count, runs))

    def of_draw(inputs: tuple[Network, jax.Array]) -> jax.Array:
        network, keys = inputs
        return jax.vmap(lambda key: log_weights(key, network, images, powers))(keys)

    return jax.lax.map(of_draw, (networks, keys))
