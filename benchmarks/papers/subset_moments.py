"""Exact moments of means over a random subset of rows, drawn without replacement."""

from collections.abc import Iterator, Sequence
from math import factorial, perm, prod

import numpy as np


def partitions(items: Sequence[int]) -> Iterator[list[list[int]]]:
    """Yield the partitions of distinct items into blocks."""
    if not items:
        yield []
        return
    first, rest = items[0], items[1:]
    for found in partitions(rest):
        yield [[first], *found]
        for i, block in enumerate(found):
            yield [*found[:i], [first, *block], *found[i + 1 :]]


def moment(factors: Sequence[np.ndarray], batch: int) -> float:
    """Return E of the product of the means of u_1, u_2, ... over the same B of N rows.

    The product of sums over the subset falls into sums over k distinct rows, one for each partition
    of the factors into k blocks; such rows are all in the subset with the probability
    B (B - 1) ... / N (N - 1) .... Sums over distinct rows follow from plain sums by Moebius
    inversion on partitions of the blocks.
    """
    count = len(factors[0]) if factors else 1
    total = 0.0
    for blocks in partitions(range(len(factors))):
        values = [np.prod([factors[i] for i in block], axis=0) for block in blocks]
        size = len(blocks)
        total += perm(batch, size) / perm(count, size) * _over_distinct_rows(values)
    return total / batch ** len(factors)


def _over_distinct_rows(values: Sequence[np.ndarray]) -> float:
    total = 0.0
    for groups in partitions(range(len(values))):
        sign = prod((-1) ** (len(g) - 1) * factorial(len(g) - 1) for g in groups)
        total += sign * prod(float(np.prod([values[i] for i in g], axis=0).sum()) for g in groups)
    return total
