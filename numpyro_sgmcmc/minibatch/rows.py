"""Uniform random rows from a single draw of random bits."""

import jax
import jax.numpy as jnp

HALF = 16
LOW = 0xFFFF


def uniform_rows(key: jax.Array, shape: tuple[int, ...], size: int) -> jax.Array:
    """Return independent uniform integers in [0, size), of type int32.

    The integer part of `size` times a binary fraction of 64 random bits: no row is more likely than
    another by more than the factor 1 + size / 2^64. `jax.random.randint` takes three draws of bits
    where this takes one, and is less even where `size` exceeds 2^16.
    """
    high, low = jax.random.bits(key, (2, *shape), jnp.uint32)
    count = jnp.uint32(size)
    upper, below = _product(high, count)
    carried, _ = _product(low, count)
    # The fraction's lower half may push the product over the next integer.
    carry = (below + carried < below).astype(jnp.uint32)
    return (upper + carry).astype(jnp.int32)


def _product(a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the upper and the lower 32 bits of a b, in 32-bit arithmetic."""
    a_high, a_low, b_high, b_low = a >> HALF, a & LOW, b >> HALF, b & LOW
    middle = a_high * b_low + ((a_low * b_low) >> HALF)
    other = a_low * b_high + (middle & LOW)
    return a_high * b_high + (middle >> HALF) + (other >> HALF), a * b
