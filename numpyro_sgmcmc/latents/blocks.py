"""Functions of all rows, computed in blocks of rows whose results are written in place."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random

ROWS_AT_ONCE = 4_096
"""Rows that a pass over all rows takes together."""


def in_blocks(of_rows: Callable[..., Any], *inputs: jax.Array) -> Any:
    """Return `of_rows(*inputs)`, whose inputs and outputs all have an axis of rows in front.

    The last block begins where a whole one ends with the last row, so that all blocks are computed
    by one program. Some rows are then computed twice.
    """
    size = len(inputs[0])
    block = min(ROWS_AT_ONCE, size)

    def body(number: jax.Array, found: Any) -> Any:
        first = jnp.minimum(number * block, size - block)
        some = [jax.lax.dynamic_slice_in_dim(x, first, block) for x in inputs]

        def written(whole: jax.Array, part: jax.Array) -> jax.Array:
            return jax.lax.dynamic_update_slice_in_dim(whole, part, first, 0)

        return jax.tree.map(written, found, of_rows(*some))

    shapes = jax.eval_shape(of_rows, *inputs)
    empty = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    return jax.lax.fori_loop(0, -(-size // block), body, empty)


def drawn_in_blocks(of_rows: Callable[..., jax.Array], key: jax.Array, size: int) -> jax.Array:
    """Return `of_rows(key, places)` for places 0 to `size` - 1, each block with a key of its own.

    The last block ends with copies of the last place, whose draws are left out.
    """
    block = min(ROWS_AT_ONCE, size)
    count = -(-size // block)

    def of_block(inputs: tuple[jax.Array, jax.Array]) -> jax.Array:
        number, own = inputs
        return of_rows(own, jnp.minimum(number * block + jnp.arange(block), size - 1))

    found = jax.lax.map(of_block, (jnp.arange(count), random.split(key, count)))
    return found.reshape(count * block, -1)[:size]
