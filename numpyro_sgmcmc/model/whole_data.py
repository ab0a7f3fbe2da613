"""Exact sums over the whole data set, in blocks of bounded memory."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.model.structure import Structure
from numpyro_sgmcmc.types import Indices, Plate

BLOCK_SIZE = 16_384
"""Largest number of rows in a block; for a group of plates, of the product of their rows."""

Result = TypeVar("Result")


def over_whole_data(
    structure: Structure, fn: Callable[[Indices], Result], block_size: int = BLOCK_SIZE
) -> Result:
    """Return `fn(all indices)`, computed in blocks, for a function that is linear in U.

    Such functions are the potential U, its gradient and Hessian-vector products. NumPyro scales the
    part of U in a plate by N / |block|, so U is the mean of U(block) over blocks, weighted by
    |block| / N. Plates that share a site form a group, whose blocks are products of blocks of its
    plates. The mean over one group is computed with one row of each plate of the other groups. With
    L_g the mean over group g of G groups, U = sum_g L_g - (G - 1) U(one row of each plate).
    """
    if not structure.plates:
        return fn({})
    block_size = max(1, block_size // structure.enumeration.states)
    fn = jax.jit(fn)  # Traces the model once for each shape of a block, not at each call.
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


def part_of_whole_data(
    structure: Structure,
    fn: Callable[[Indices], Result],
    part: jax.Array,
    parts: int,
    block_size: int = BLOCK_SIZE,
) -> Result:
    """Return one of so many parts of `over_whole_data`, of a model with one subsampled plate.

    The sum of all parts is `fn(all indices)`. Blocks are small enough for each part to have one.
    """
    ((name, (size, _)),) = structure.plates.items()
    most = max(1, block_size // structure.enumeration.states)
    blocks = blocks_of(size, min(most, -(-size // parts)))
    nth = _nth_block(blocks, lambda rows, share: _scaled(share, fn({name: rows})))
    count = _count(blocks)
    return _sum_over(nth, count * part // parts, count * (part + 1) // parts)


def _mean_over_blocks(
    plates: list[tuple[str, Plate]], rows: int, indices: Indices, fn: Callable[[Indices], Result]
) -> Result:
    if not plates:
        return fn(indices)
    (name, (size, _)), *others = plates
    blocks = blocks_of(size, rows)

    def at(block: jax.Array, share: Any) -> Result:
        return _scaled(share, _mean_over_blocks(others, rows, indices | {name: block}, fn))

    if _count(blocks) == 1:
        return at(jnp.arange(blocks.rows), 1.0)
    return _sum_over(_nth_block(blocks, at), 0, _count(blocks))


def _nth_block(
    blocks: "Blocks", at: Callable[[jax.Array, Any], Result]
) -> Callable[[jax.Array], Result]:
    """Return `at(rows, share)` of the n-th block as a function of n."""
    every = jnp.arange(blocks.rows)
    counted, shares = jnp.asarray(blocks.counted), jnp.asarray(blocks.shares)

    def nth(block: jax.Array) -> Result:
        kind = jnp.maximum(block - (blocks.whole - 1), 0)
        first = jnp.minimum(block, blocks.whole) * blocks.rows
        return at(first + every % counted[kind], shares[kind])

    return nth


def _sum_over(nth: Callable[[jax.Array], Result], first: Any, last: Any) -> Result:
    nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(nth, 0))
    return jax.lax.fori_loop(first, last, lambda block, total: _add(total, nth(block)), nothing)


def _count(blocks: "Blocks") -> int:
    """Return the number of blocks, those that repeat rows included."""
    return blocks.whole + len(blocks.counted) - 1


def _scaled(share: Any, value: Result) -> Result:
    return jax.tree.map(lambda x: share * x, value)


class Blocks(NamedTuple):
    """The partition of a plate into blocks of one size.

    Attributes:
        rows: number of indices in each block.
        whole: number of blocks whose rows are all different.
        counted: numbers of different rows: in a whole block first, then in each block that repeats
            rows.
        shares: weights in the mean over the plate: of a whole block first, then of each block that
            repeats rows.
    """

    rows: int
    whole: int
    counted: list[int]
    shares: list[float]


def blocks_of(size: int, most: int) -> Blocks:
    """Return the partition of a plate into blocks of at most `most` indices.

    All blocks have the same shape, so that a program contains the model only once. If the blocks do
    not divide the plate, the l rows that are left are repeated to fill a block. Let r = q l + e be
    the number of indices in that block. Its mean M counts the first e rows once too often, so the
    mean L over the l rows satisfies l L = (r M - e E) / q, where E is the mean over those e rows. E
    is computed in the same way, until e = 0.
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
