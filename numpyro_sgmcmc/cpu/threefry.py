"""The rounds of Threefry-2x32, JAX's default random number generator.

Source: J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011,
doi:10.1145/2063384.2063405), with 20 rounds.
"""

from typing import Any

import jax
import numpy as np

ROTATIONS = (13, 15, 26, 6), (17, 29, 16, 24)
GROUPS = 5
"""Groups of four rounds; after each group the key is added."""
PARITY = 0x1BD11BDA
WORD = 32
"""Bits of a word."""


def hashed(key: jax.Array, count: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the two words to which a key maps each number below 2^32."""
    return _traced_once(jax.random.key_data(key), count)


def mixed(key: Any, count: Any) -> tuple[Any, Any]:
    """Return the same for a key's two words, as JAX or NumPy arrays."""
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


# Tracing the rounds takes 6 ms, and a warm-up's programs use them a hundred times.
_traced_once = jax.jit(mixed, inline=True)
