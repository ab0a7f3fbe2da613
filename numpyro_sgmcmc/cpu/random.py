"""The random numbers of `jax.random`, at less cost on a CPU.

On a CPU, JAX runs the rounds of its random number generator in a separate loop for each draw. This
costs a microsecond for the few numbers of a small model's step, twice the time per number for a
large model, and compilation time. Here the rounds are unrolled, and XLA can fuse them with the
arithmetic that uses the numbers.

XLA fuses arithmetic into each of its uses, where it is computed and compiled again. Numbers are
therefore drawn in a loop of two iterations, which XLA does not fuse. If a step draws many normal
numbers, for its parameters or for its chains, they are left to fusion, which saves an array and
allows several processors to share the work.

`jax.random` is used for keys of other kinds, for numbers that are not 32-bit words or floats, and
if the folder is switched off. Outside compiled programs `jax.random` is faster.
"""

from collections.abc import Callable
from math import prod, sqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.custom_batching import custom_vmap

from numpyro_sgmcmc.cpu.gate import is_on
from numpyro_sgmcmc.cpu.threefry import WORD, hashed, mixed
from numpyro_sgmcmc.cpu.trips import in_two_trips

FRACTION = 23
"""Bits of the fraction of a float."""
ONE = 0x3F800000
"""The bits of 1.0."""
HALF = 0xFFFF
"""The lower half of a word."""
MANY_NUMBERS = 2**16
"""From this size on, writing and reading an additional array costs more than drawing twice."""
ABOVE_MINUS_ONE = float(np.nextafter(np.float32(-1), np.float32(0)))


def split(key: jax.Array, num: int | tuple[int, ...] = 2) -> jax.Array:
    """Return new keys as `jax.random.split` does."""
    shape = (num,) if isinstance(num, int) else num
    if not _is_written_out(key, shape):
        return jax.random.split(key, num)
    return _as_keys(hashed(key, _places(shape)), key)


def keys_of(key: jax.Array, num: int) -> list[jax.Array]:
    """Return the keys of `split` as a list. For a concrete key no program is compiled."""
    if isinstance(key, Tracer) or not _is_written_out(key, (num,)):
        return list(split(key, num))
    words = mixed(np.asarray(jax.random.key_data(key)), np.arange(num, dtype=np.uint32))
    return [_as_keys(one, key) for one in zip(*words, strict=True)]


def fold_in(key: jax.Array, data: jax.Array) -> jax.Array:
    """Return a new key as `jax.random.fold_in` does."""
    if not _is_written_out(key, ()):
        return jax.random.fold_in(key, data)
    return _as_keys(hashed(key, data.astype(jnp.uint32)), key)


def bits(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Return uniform 32-bit words as `jax.random.bits` does."""
    if not _is_written_out(key, shape):
        return jax.random.bits(key, shape, jnp.uint32)
    return _in_two_trips(key, shape, lambda words: words)


def uniform(
    key: jax.Array, shape: tuple[int, ...], dtype: Any, minval: float, maxval: float
) -> jax.Array:
    """Return uniform numbers in [minval, maxval) as `jax.random.uniform` does."""
    if dtype != jnp.float32 or not _is_written_out(key, shape):
        return jax.random.uniform(key, shape, dtype, minval, maxval)
    return _in_two_trips(key, shape, lambda words: _within(words, minval, maxval))


def normal(key: jax.Array, shape: tuple[int, ...], dtype: Any, is_kept: bool = False) -> jax.Array:
    """Return standard normal numbers as `jax.random.normal` does; bits are equal before fusion.

    With `is_kept` they are never left to fusion, which would compute numbers that several arrays
    are made of once for each of these.
    """
    if dtype != jnp.float32 or not _is_written_out(key, shape):
        return jax.random.normal(key, shape, dtype)
    if is_kept:
        return _in_two_trips(key, shape, _normal)
    fused = lambda key: _normal(_words(key, _places(shape)))  # noqa: E731
    if prod(shape) >= MANY_NUMBERS:
        return fused(key)
    apart = custom_vmap(lambda key: _in_two_trips(key, shape, _normal))
    apart.def_vmap(lambda _size, _batched, keys: (jax.vmap(fused)(keys), True))
    return apart(key)


def signs(key: jax.Array, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """Return -1 or 1, each with probability 1/2, as `jax.random.rademacher` does."""
    if dtype != jnp.float32 or not _is_written_out(key, shape):
        return jax.random.rademacher(key, shape, dtype)
    sign = lambda words: jnp.where(words >> (WORD - 1), np.float32(-1), np.float32(1))  # noqa: E731
    return _in_two_trips(key, shape, sign)


def binomial(key: jax.Array, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """Return counts of 16 random bits, centred and scaled: (count - 8) / 2.

    Their mean is 0, their variance 1, their third moment 0 and their fourth 2.875. A 32-bit word
    makes two of them.
    """
    count = prod(shape)
    words = _many_bits(key, -(-count // 2))
    halves = jnp.concatenate([words & np.uint32(HALF), words >> (WORD // 2)])[:count]
    counts = jax.lax.population_count(halves).reshape(shape)
    return (counts.astype(dtype) - (WORD // 4)) / 2


def _many_bits(key: jax.Array, count: int) -> jax.Array:
    """Return `bits`, and draw many of them in a branch, which several processors share."""
    if count < MANY_NUMBERS or not _is_written_out(key, (count,)):
        return bits(key, (count,))
    apart = custom_vmap(lambda key: _in_a_branch(key, count))
    apart.def_vmap(
        lambda _size, _batched, keys: (jax.vmap(lambda k: bits(k, (count,)))(keys), True)
    )
    return apart(key)


def _in_a_branch(key: jax.Array, count: int) -> jax.Array:
    """Return random words from the branch of a conditional that is always taken.

    XLA does not fuse it with its uses either, and gives its loop to several processors.
    """
    first = jax.random.key_data(key)[0]
    is_odd = (first * (first + np.uint32(1))) & np.uint32(1)  # Never, which XLA does not know.
    return jax.lax.cond(
        is_odd == 1,
        lambda _: jnp.zeros(count, jnp.uint32),
        lambda key: _words(key, _places((count,))),
        key,
    )


def _in_two_trips(
    key: jax.Array, shape: tuple[int, ...], make: Callable[[jax.Array], jax.Array]
) -> jax.Array:
    """Return `make` of random words, applied to each number, in a loop of two iterations."""
    made = in_two_trips(prod(shape), lambda places: make(_words(key, places)), jnp.uint32)
    return made.reshape(shape)


def _words(key: jax.Array, places: jax.Array) -> jax.Array:
    first, second = hashed(key, places)
    return first ^ second


def _normal(words: jax.Array) -> jax.Array:
    return np.float32(sqrt(2)) * jax.lax.erf_inv(_within(words, ABOVE_MINUS_ONE, 1.0))


def _within(words: jax.Array, minval: float, maxval: float) -> jax.Array:
    low, high = np.float32(minval), np.float32(maxval)
    fraction = jax.lax.bitcast_convert_type(
        words >> (WORD - FRACTION) | jnp.uint32(ONE), jnp.float32
    )
    return jnp.maximum(low, (fraction - 1) * (high - low) + low)


def _is_written_out(key: jax.Array, shape: tuple[int, ...]) -> bool:
    is_threefry = jax.random.key_impl(key) == "threefry2x32"
    counts_up = getattr(jax.config, "jax_threefry_partitionable", True)
    return is_on() and is_threefry and counts_up and prod(shape) < 2**WORD


def _places(shape: tuple[int, ...]) -> jax.Array:
    return jax.lax.iota(jnp.uint32, prod(shape)).reshape(shape)


def _as_keys(words: tuple[jax.Array, jax.Array], like: jax.Array) -> jax.Array:
    stack = jnp.stack if isinstance(words[0], jax.Array) else np.stack
    data = jnp.asarray(stack(words, -1))
    is_typed = jnp.issubdtype(like.dtype, jax.dtypes.prng_key)
    return jax.random.wrap_key_data(data, impl=jax.random.key_impl(like)) if is_typed else data
