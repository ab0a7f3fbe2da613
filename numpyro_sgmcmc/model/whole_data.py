"""Exact sums over the whole data set, in blocks of bounded memory."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.model.structure import Structure
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
    blocks = blocks_of(size, rows)

    def at(block: jax.Array, share: Any) -> Result:
        value = _mean_over_blocks(others, rows, indices | {name: block}, fn)
        return jax.tree.map(lambda x: share * x, value)

    every = jnp.arange(blocks.rows)
    if blocks.whole == 1 and len(blocks.counted) == 1:
        return at(every, 1.0)
    counted, shares = jnp.asarray(blocks.counted), jnp.asarray(blocks.shares)

    def nth(block: jax.Array) -> Result:
        kind = jnp.maximum(block - (blocks.whole - 1), 0)
        first = jnp.minimum(block, blocks.whole) * blocks.rows
        return at(first + every % counted[kind], shares[kind])

    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(nth, 0))
    count = blocks.whole + len(blocks.counted) - 1
    return jax.lax.fori_loop(0, count, lambda block, total: _add(total, nth(block)), nothing)


class Blocks(NamedTuple):
    """Blocks of one size that make up a plate.

    Attributes:
        rows: indices in each block.
        whole: blocks of as many different rows.
        counted: different rows in a whole block, and in each of those that repeat rows.
        shares: what the mean over each of these kinds of blocks counts in the mean over the plate.
    """

    rows: int
    whole: int
    counted: list[int]
    shares: list[float]


def blocks_of(size: int, most: int) -> Blocks:
    """Return the blocks that a plate is cut into, each of at most `most` indices.

    One shape for all, so that the model stands once in a program, also where the size has no
    divisor: the l rows that are left fill a block by repetition. With r = q l + e indices in it,
    its mean M counts the first e rows once too often, so the mean L over the l rows has
    l L = (r M - e E) / q; the mean E over those e rows is found in the same way, until e = 0.
    """
    rows = -(-size // -(-size // most))
    whole, left = divmod(size, rows)
    counted, shares, share = [rows], [rows / size], 1.0
    while left:
        times, more = divmod(rows, left)
        counted.append(left)
        shares.append(share * rows / (times * size))
        share, left = -share / times, more
    return Blocks(rows, whole, counted, shares)


def _add(*trees: Result) -> Result:
    return jax.tree.map(lambda *leaves: sum(leaves[1:], start=leaves[0]), *trees)
