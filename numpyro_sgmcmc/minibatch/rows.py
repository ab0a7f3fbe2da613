"""Uniform random rows from a single draw of random bits."""

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random

HALF = 16
LOW = 0xFFFF
FEW_ROWS = 2**22
"""Up to this size, one word of random bits favours no row by more than one part in a thousand."""


def uniform_rows(key: jax.Array, shape: tuple[int, ...], size: int) -> jax.Array:
    """Return independent uniform integers in [0, size), of type int32.

    Each integer is the integer part of `size` times a binary fraction of k random bits. The
    probability of a row is 1 / size up to a factor of 1 + size / 2^k, where k is 32 up to four
    million rows and 64 above. `jax.random.randint` has the same error up to four million rows and a
    larger one above, and draws three times as many bits.
    """
    words = 1 if size <= FEW_ROWS else 2
    return _row(random.bits(key, (words, *shape)), size)


def _row(words: jax.Array, size: int) -> jax.Array:
    count = jnp.uint32(size)
    upper, below = upper_and_lower(words[0], count)
    if len(words) == 2:
        carried, _ = upper_and_lower(words[1], count)
        # The lower half of the fraction may carry into the integer part of the product.
        upper += (below + carried < below).astype(jnp.uint32)
    return upper.astype(jnp.int32)


def upper_and_lower(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the upper and the lower 32 bits of a b, in 32-bit arithmetic."""
    a_high, a_low, b_high, b_low = a >> HALF, a & LOW, b >> HALF, b & LOW
    middle = a_high * b_low + ((a_low * b_low) >> HALF)
    other = a_low * b_high + (middle & LOW)
    return a_high * b_high + (middle >> HALF) + (other >> HALF), a * b
