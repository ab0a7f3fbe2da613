"""Random subsets of 1,000 rows, drawn without replacement, at a hundredth of a shuffle's cost."""

from dataclasses import dataclass
from typing import Any, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.types import Indices, Plate

ROUNDS = 8


@final
@dataclass(frozen=True)
class Subset(AbstractMinibatch):
    """Each minibatch is a random set of B distinct rows, independent of the other minibatches.

    `UniformMinibatch(replace=False)` shuffles the plate where B > N / 8, which takes 200 µs for B =
    100 of N = 1,000: the figures would run for hours. Here the rows are the images of 0, ..., B - 1
    under a keyed bijection of Z_low x Z_high (a Feistel network with a new key for each
    minibatch), where low * high = N.

    Args:
        low: a factor of N near its square root.
    """

    low: int

    def init(self, key: jax.Array, plates: dict[str, Plate]) -> tuple[()]:
        """Return no state."""
        return ()

    def draw(
        self, key: jax.Array, count: jax.Array, plates: dict[str, Plate], state: Any
    ) -> tuple[Indices, Any]:
        """Return B distinct rows of the model's only plate."""
        ((name, (size, batch)),) = plates.items()
        return {name: self._rows(key, size, batch)}, state

    def _rows(self, key: jax.Array, size: int, batch: int) -> jax.Array:
        low, high = self.low, size // self.low
        if low * high != size:
            raise ValueError(f"Expected a factor of {size} rows; got {low}.")
        keys = random.bits(key, (ROUNDS,))
        place = jnp.arange(batch, dtype=jnp.uint32)
        left, right = place % low, place // low
        for count in range(0, ROUNDS, 2):
            left = (left + _hash(keys[count], right) % low) % low
            right = (right + _hash(keys[count + 1], left) % high) % high
        return (right * low + left).astype(jnp.int32)


def _hash(key: jax.Array, value: jax.Array) -> jax.Array:
    return _mix(_mix(value ^ key) + key)


def _mix(x: jax.Array) -> jax.Array:
    # MurmurHash3's finaliser.
    x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
    x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
    return x ^ (x >> 16)
