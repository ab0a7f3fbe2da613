"""Random permutations of N rows, evaluated at single places without O(N) work."""

from collections.abc import Sequence
from functools import cache
from math import ceil, isqrt, log

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.minibatch.rows import upper_and_lower

UNMIXED = 1e-5
FEWEST_ROUNDS = 6


def round_keys(key: jax.Array, size: int) -> jax.Array:
    """Return the words that determine a permutation of range(size), (rounds,)."""
    return random.bits(key, (rounds(size),))


def permuted(keys: Sequence[jax.Array], size: int, places: jax.Array) -> jax.Array:
    """Return the entries of random permutations of range(size) at these places.

    A shuffle would cost O(N) at the start of each epoch, and under `vmap` at each step. This is a
    Feistel network on pairs (l, r) of Z_a x Z_b, a b >= N. Each round adds a keyed hash of one half
    to the other, so every round is a bijection. The network is applied again to a result of N or
    more until it is below N, which gives a bijection of range(N). This is rare, as a b - N is
    small.

    Args:
        keys: one word for each round, (), or an array of words, one for each place.
        size: N, below 2^31.
        places: in range(N), of any shape.
    """
    low, high = sides(size)

    def network(place: jax.Array) -> jax.Array:
        left, right = place % low, place // low
        for count in range(0, rounds(size), 2):
            left = _added(left, _below(low, keys[count], right), low)
            right = _added(right, _below(high, keys[count + 1], left), high)
        return right * low + left

    rows = network(places.astype(jnp.uint32))
    if low * high > size:
        is_outside = lambda rows: jnp.any(rows >= size)  # noqa: E731
        again = lambda rows: jnp.where(rows >= size, network(rows), rows)  # noqa: E731
        rows = jax.lax.while_loop(is_outside, again, rows)
    return rows.astype(jnp.int32)


@cache
def sides(size: int) -> tuple[int, int]:
    """Return a and b, both above 1 for N > 2, with the smallest product of N or more.

    a is between a half and twice the root of N, because a network mixes badly where one half of a
    pair says nearly all.
    """
    if size <= 2:
        return size, 1
    root = isqrt(size - 1) + 1
    least, most = max(root // 2, 2), max(min(2 * root, (size + 1) // 2), 2)
    pairs = [(low, -(-size // low)) for low in range(least, most + 1)]
    return min(pairs, key=lambda pair: (pair[0] * pair[1], abs(pair[0] - root)))


def rounds(size: int) -> int:
    """Return the even number of rounds.

    Two places with the same half keep the distance of the other half until a round tells them
    apart. Each round for that half fails to do so with probability 1 / a or 1 / b. All of them fail
    with probability `UNMIXED` at most.
    """
    smallest = max(min(sides(size)), 2)
    return max(2 * ceil(log(1 / UNMIXED) / log(smallest)), FEWEST_ROUNDS)


def _added(half: jax.Array, more: jax.Array, size: int) -> jax.Array:
    """Return the sum modulo `size` of two numbers below it."""
    total = half + more
    return jnp.where(total >= size, total - size, total)


def _below(size: int, key: jax.Array, value: jax.Array) -> jax.Array:
    """Return a keyed hash of a value, below `size`."""
    # The integer part of `size` times a fraction of 32 bits takes less time than a remainder. A
    # fraction of 16 bits favours some values by `size` / 2^16.
    return upper_and_lower(_mix(value ^ key), jnp.uint32(size))[0]


def _mix(x: jax.Array) -> jax.Array:
    # MurmurHash3's finaliser: each bit of the result depends on all bits of x.
    x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
    return x ^ (x >> 16)
