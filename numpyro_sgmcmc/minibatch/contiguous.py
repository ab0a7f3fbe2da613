"""Minibatches of neighbouring rows."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.minibatch.base import AbstractMinibatch
from numpyro_sgmcmc.minibatch.rows import uniform_rows
from numpyro_sgmcmc.minibatch.uniform import split_by_plate
from numpyro_sgmcmc.types import Indices, Plate


@final
@dataclass(frozen=True)
class ContiguousMinibatch(AbstractMinibatch):
    """Each minibatch is a block of B neighbouring rows that starts at a uniform row.

    Blocks wrap around the end, so every row is equally likely and the gradient is unbiased for any
    order of the rows. Its *variance* is that of independent rows only if the order carries no
    information. Shuffle sorted or clustered data once before the run (`shuffle_rows`); otherwise
    the gradient noise is larger than with `UniformMinibatch`. `features[index]` of a model's
    arguments becomes a slice, which copies a block of memory. A step of one chain is twice as fast
    if the data exceed the cache.
    """

    is_contiguous: ClassVar[bool] = True

    def init(self, key: jax.Array, plates: dict[str, Plate]) -> tuple[()]:
        """Return no state."""
        return ()

    def draw(
        self, key: jax.Array, count: jax.Array, plates: dict[str, Plate], state: Any
    ) -> tuple[Indices, Any]:
        """Return B consecutive indices for each plate."""
        keys = split_by_plate(key, len(plates))
        return {name: _block(k, plates[name]) for name, k in zip(plates, keys, strict=True)}, state


def _block(key: jax.Array, plate: Plate) -> jax.Array:
    start = uniform_rows(key, (), plate.size)
    rows = start + jnp.arange(plate.subsample_size)
    return jnp.where(rows >= plate.size, rows - plate.size, rows)
