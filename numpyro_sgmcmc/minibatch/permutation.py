"""Random permutations of N rows, evaluated at single places without O(N) work."""

from math import isqrt

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random

ROUNDS = 8


def permuted(key: jax.Array, size: int, places: jax.Array) -> jax.Array:
    """Return the entries of a random permutation of range(size) at these places.

    A shuffle would cost O(N) at the start of each epoch, and under `vmap` at each step. This is a
    Feistel network on pairs (l, r) of Z_a x Z_b, a b >= N. Each round adds a keyed hash of one half
    to the other, so every round is a bijection. The network is applied again to a result of N or
    more until it is below N, which gives a bijection of range(N). As a b - N < a, that is rare.
    """
    low = isqrt(size - 1) + 1 if size > 1 else 1
    high = -(-size // low)
    keys = random.bits(key, (ROUNDS,))

    def network(place: jax.Array) -> jax.Array:
        left, right = place % low, place // low
        for count in range(0, ROUNDS, 2):
            left = (left + _hash(keys[count], right) % low) % low
            right = (right + _hash(keys[count + 1], left) % high) % high
        return right * low + left

    def is_outside(rows: jax.Array) -> jax.Array:
        return jnp.any(rows >= size)

    def again(rows: jax.Array) -> jax.Array:
        return jnp.where(rows >= size, network(rows), rows)

    rows = network(places.astype(jnp.uint32))
    return jax.lax.while_loop(is_outside, again, rows).astype(jnp.int32)


def _hash(key: jax.Array, value: jax.Array) -> jax.Array:
    # MurmurHash3's finaliser, applied twice: each bit of the hash depends on all bits of both.
    return _mix(_mix(value ^ key) + key)


def _mix(x: jax.Array) -> jax.Array:
    x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
    return x ^ (x >> 16)
