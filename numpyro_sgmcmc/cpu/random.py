"""JAX's random numbers, to the bit, at less cost on a CPU.

There JAX runs Threefry's rounds in a loop that is started anew for each draw. It takes a
microsecond for the few numbers that a small model needs at a step, twice the time a number for a
large one, and longer to compile. Here the rounds are written out and become part of the arithmetic
that uses their numbers.

XLA fuses arithmetic into each of its uses, where it is computed anew and compiled once more. So
numbers are made in two trips of a loop, from which nothing is fused: 0.1 microseconds a draw, and
half the time to compile a step. Only where a step takes many normal numbers, for its parameters or
its chains, are they left to fusion: there it spares an array, or is shared among processors.

Keys of other kinds, and numbers that are no 32-bit words or floats, are left to `jax.random`. So
should be draws outside of compiled programs: operation by operation, JAX's are faster.

Source: J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011), Threefry-2x32
with 20 rounds.
"""

from collections.abc import Callable
from math import prod, sqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.custom_batching import custom_vmap

ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)
GROUPS = 5
"""Of four rounds each; after a group the key is added."""
PARITY = 0x1BD11BDA
WORD, FRACTION = 32, 23
"""Bits of a word, and of the fraction of a float."""
ONE = 0x3F800000
"""The bits of 1.0."""
MANY_NUMBERS = 2**16
"""From here on an array more to write and read costs more than a draw's repetition."""
ABOVE_MINUS_ONE = float(np.nextafter(np.float32(-1), np.float32(0)))


def split(key: jax.Array, num: int | tuple[int, ...] = 2) -> jax.Array:
    """Return new keys as `jax.random.split` does."""
    shape = (num,) if isinstance(num, int) else num
    if not _is_ours(key, shape):
        return jax.random.split(key, num)
    return _as_keys(_hashed(key, _places(shape)), key)


def keys_of(key: jax.Array, num: int) -> list[jax.Array]:
    """Return the same keys one by one, of a concrete key without any program to compile."""
    if isinstance(key, Tracer) or not _is_ours(key, (num,)):
        return list(split(key, num))
    words = _mixed(np.asarray(jax.random.key_data(key)), np.arange(num, dtype=np.uint32))
    return [_as_keys(one, key) for one in zip(*words, strict=True)]


def fold_in(key: jax.Array, data: jax.Array) -> jax.Array:
    """Return a new key as `jax.random.fold_in` does."""
    if not _is_ours(key, ()):
        return jax.random.fold_in(key, data)
    return _as_keys(_hashed(key, data.astype(jnp.uint32)), key)


def bits(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Return uniform 32-bit words as `jax.random.bits` does."""
    if not _is_ours(key, shape):
        return jax.random.bits(key, shape, jnp.uint32)
    first, second = _hashed(key, _places(shape))
    return first ^ second


def numbers(
    key: jax.Array, shape: tuple[int, ...], make: Callable[[jax.Array], jax.Array], words: int = 1
) -> jax.Array:
    """Return what `make` makes of random words, number by number.

    Args:
        key: any key.
        shape: of the result.
        make: from `bits` of shape (words, ...) to an array of shape (...).
        words: how many a number takes.
    """
    count = prod(shape)
    if count < 2 or not _is_ours(key, (words, *shape)):
        return make(bits(key, (words, *shape)))
    half = -(-count // 2)

    def trip(number: jax.Array) -> jax.Array:
        places = jax.lax.iota(jnp.uint32, half) + number * np.uint32(half)
        drawn = [_hashed(key, places + np.uint32(word * count)) for word in range(words)]
        return make(jnp.stack([first ^ second for first, second in drawn]))

    made = jax.lax.map(trip, jnp.arange(2, dtype=jnp.uint32))
    return made.ravel()[:count].reshape(shape)


def uniform(
    key: jax.Array, shape: tuple[int, ...], dtype: Any, minval: float, maxval: float
) -> jax.Array:
    """Return uniform numbers in [minval, maxval) as `jax.random.uniform` does."""
    if dtype != jnp.float32 or not _is_ours(key, shape):
        return jax.random.uniform(key, shape, dtype, minval, maxval)
    return numbers(key, shape, lambda drawn: _within(drawn[0], minval, maxval))


def normal(key: jax.Array, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """Return standard normal numbers as `jax.random.normal` does."""
    if dtype != jnp.float32 or not _is_ours(key, shape):
        return jax.random.normal(key, shape, dtype)
    fused = lambda key: _normal(bits(key, shape))  # noqa: E731
    if prod(shape) >= MANY_NUMBERS:
        return fused(key)
    apart = custom_vmap(lambda key: numbers(key, shape, lambda drawn: _normal(drawn[0])))
    apart.def_vmap(lambda _size, _batched, keys: (jax.vmap(fused)(keys), True))
    return apart(key)


def signs(key: jax.Array, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """Return -1 or 1, each with probability 1/2, as `jax.random.rademacher` does."""
    if dtype != jnp.float32 or not _is_ours(key, shape):
        return jax.random.rademacher(key, shape, dtype)
    first_bit = lambda drawn: drawn[0] >> (WORD - 1)  # noqa: E731
    return numbers(key, shape, lambda d: jnp.where(first_bit(d), np.float32(-1), np.float32(1)))


def _normal(words: jax.Array) -> jax.Array:
    return np.float32(sqrt(2)) * jax.lax.erf_inv(_within(words, ABOVE_MINUS_ONE, 1.0))


def _within(words: jax.Array, minval: float, maxval: float) -> jax.Array:
    low, high = np.float32(minval), np.float32(maxval)
    fraction = jax.lax.bitcast_convert_type(
        words >> (WORD - FRACTION) | jnp.uint32(ONE), jnp.float32
    )
    return jnp.maximum(low, (fraction - 1) * (high - low) + low)


def _is_ours(key: jax.Array, shape: tuple[int, ...]) -> bool:
    is_threefry = jax.random.key_impl(key) == "threefry2x32"
    counts_up = getattr(jax.config, "jax_threefry_partitionable", True)
    return is_threefry and counts_up and prod(shape) < 2**WORD


def _places(shape: tuple[int, ...]) -> jax.Array:
    return jax.lax.iota(jnp.uint32, prod(shape)).reshape(shape)


def _as_keys(words: tuple[jax.Array, jax.Array], like: jax.Array) -> jax.Array:
    stack = jnp.stack if isinstance(words[0], jax.Array) else np.stack
    data = jnp.asarray(stack(words, -1))
    is_typed = jnp.issubdtype(like.dtype, jax.dtypes.prng_key)
    return jax.random.wrap_key_data(data, impl=jax.random.key_impl(like)) if is_typed else data


def _hashed(key: jax.Array, count: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the two words that a key makes of each number below 2^32."""
    return _mixed(jax.random.key_data(key), count)


def _mixed(key: Any, count: Any) -> tuple[Any, Any]:
    """Return the same of a key's two words; all are JAX's arrays, or NumPy's."""
    a, b = key
    schedule = a, b, a ^ b ^ np.uint32(PARITY)
    first, second = count * np.uint32(0) + a, count + b
    for group in range(GROUPS):
        for by in ROTATIONS[group % 2]:
            first = first + second
            second = first ^ (second << by | second >> (WORD - by))
        first = first + schedule[(group + 1) % 3]
        second = second + schedule[(group + 2) % 3] + np.uint32(group + 1)
    return first, second
