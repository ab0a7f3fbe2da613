"""Exact distributions under minibatch schemes that go through the rows by epochs, B dividing N."""

from itertools import permutations

import numpy as np

from tests.oracles.enumeration import Rows, averaged, block_step
from tests.oracles.recursion import Recursion

SCHEMES = ("uniform", "reshuffled", "sweep")


def distribution(
    recursion: Recursion, rows: Rows, batch: int, h: float, scheme: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of (z - mode, p), over all steps, for minibatches of `batch` rows.

    Every order of the rows is equally likely. `uniform` is without replacement.
    """
    size = len(rows.slopes)
    orders = permutations(range(size))
    cycles = set()
    for order in orders:
        blocks = [tuple(sorted(order[i : i + batch])) for i in range(0, size, batch)]
        turn = {"uniform": blocks[:1], "reshuffled": blocks, "sweep": blocks + blocks[::-1]}
        cycles.add(tuple(turn[scheme]))
    step = {
        block: block_step(recursion, rows, block, h) for block in {b for c in cycles for b in c}
    }
    return averaged([[step[block] for block in cycle] for cycle in sorted(cycles)])
