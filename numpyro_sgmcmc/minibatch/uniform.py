"""Uniform minibatches."""

from dataclasses import dataclass
from typing import Any, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.minibatch.base import AbstractMinibatch
from numpyro_sgmcmc.minibatch.rows import uniform_rows
from numpyro_sgmcmc.types import Indices, Plate


@final
@dataclass(frozen=True)
class UniformMinibatch(AbstractMinibatch):
    """Each minibatch is drawn uniformly, independently of the others.

    Args:
        replace: whether rows are drawn with replacement, as in Brosse, Durmus and Moulines (2018,
            equation 3, https://arxiv.org/abs/1811.10072). A draw then costs B random integers.
            Without replacement, the gradient noise is smaller by the factor (N - B) / (N - 1). Rows
            that are drawn twice are drawn again if B <= N / 8, at a cost that does not depend on N;
            otherwise the whole plate is shuffled.
    """

    replace: bool = True

    def init(self, key: jax.Array, plates: dict[str, Plate]) -> tuple[()]:
        """Return no state."""
        return ()

    def draw(
        self, key: jax.Array, count: jax.Array, plates: dict[str, Plate], state: Any
    ) -> tuple[Indices, Any]:
        """Return B indices for each plate."""
        keys = split_by_plate(key, len(plates))
        pick = _with_replacement if self.replace else _without_replacement
        return {name: pick(k, plates[name]) for name, k in zip(plates, keys, strict=True)}, state


def split_by_plate(key: jax.Array, count: int) -> list[jax.Array]:
    """Return one key for each plate; a single plate uses the key itself."""
    return [key] if count == 1 else list(random.split(key, count))


def _with_replacement(key: jax.Array, plate: Plate) -> jax.Array:
    return uniform_rows(key, (plate.subsample_size,), plate.size)


def _without_replacement(key: jax.Array, plate: Plate) -> jax.Array:
    size, count = plate
    if 8 * count > size:
        return jax.random.permutation(key, size)[:count]

    # Redraw every later copy of a row until none is left. Whether a row is redrawn depends only on
    # equality of rows, so the distribution is invariant under a relabelling of the rows, and every
    # set of B distinct rows is equally likely.
    def has_clash(carry: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        return jnp.any(carry[2])

    def redraw(
        carry: tuple[jax.Array, jax.Array, jax.Array],
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        key, rows, clash = carry
        key, subkey = random.split(key)
        fresh = uniform_rows(subkey, (count,), size)
        rows = jnp.where(clash, fresh, rows)
        return key, rows, _later_copies(rows)

    start = (key, jnp.zeros(count, jnp.int32), jnp.ones(count, bool))
    return jax.lax.while_loop(has_clash, redraw, start)[1]


def _later_copies(rows: jax.Array) -> jax.Array:
    order = jnp.argsort(rows, stable=True)
    ordered = rows[order]
    copies = jnp.concatenate([jnp.zeros(1, bool), ordered[1:] == ordered[:-1]])
    return jnp.zeros_like(copies).at[order].set(copies)
