"""Exact sums over the whole data set, in blocks of bounded memory."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.potential.structure import Structure
from numpyro_sgmcmc.types import Indices, Plate

BLOCK_SIZE = 16_384
"""Rows that one block holds at the most (over all plates of a group: product of their rows)."""

Result = TypeVar("Result")


def over_whole_data(
    structure: Structure, fn: Callable[[Indices], Result], block_size: int = BLOCK_SIZE
) -> Result:
    """Return what `fn(all indices)` would be, for `fn` linear in the potential U.

    For example the potential itself, its gradient, or a Hessian-vector product. NumPyro scales the
    part of U in a plate by N / |block|, so U is the mean of U(block) over blocks, weighted by
    |block| / N. Plates that share a site form a group and are cut as a product; groups are summed
    one after the other while the rest stays at one row: with L_g the mean over group g,
    U = sum_g L_g - (G - 1) U(one row of each plate).
    """
    if not structure.plates:
        return fn({})
    fn = jax.jit(fn)  # the model is traced once for each shape of a block, not at each mention
    rest = {name: jnp.zeros(1, jnp.int32) for name in structure.plates}
    totals = []
    for group in structure.groups:
        rows = max(1, int(block_size ** (1 / len(group))))
        plates = [(name, structure.plates[name]) for name in group]
        totals.append(_mean_over_blocks(plates, rows, rest, fn))
    total = _add(*totals)
    if len(totals) == 1:
        return total
    return jax.tree.map(lambda t, one: t - (len(totals) - 1) * one, total, fn(rest))


def _mean_over_blocks(
    plates: list[tuple[str, Plate]], rows: int, indices: Indices, fn: Callable[[Indices], Result]
) -> Result:
    if not plates:
        return fn(indices)
    (name, (size, _)), *others = plates
    rows = min(rows, size)

    def at(block: jax.Array) -> Result:
        value = _mean_over_blocks(others, rows, indices | {name: block}, fn)
        return jax.tree.map(lambda x: (block.shape[0] / size) * x, value)

    whole, left = divmod(size, rows)
    totals = [at(jnp.arange(size - left, size))] if left else []
    if whole == 1:
        totals.append(at(jnp.arange(rows)))
    else:
        first = jax.tree.map(
            lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(at, jnp.arange(rows))
        )

        def body(block: jax.Array, total: Result) -> Result:
            return _add(total, at(block * rows + jnp.arange(rows)))

        totals.append(jax.lax.fori_loop(0, whole, body, first))
    return _add(*totals)


def _add(*trees: Result) -> Result:
    return jax.tree.map(lambda *leaves: sum(leaves[1:], start=leaves[0]), *trees)
