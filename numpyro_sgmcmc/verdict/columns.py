"""Work on the columns of large arrays, a few at a time."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

COLUMNS = 32
"""Columns that are worked on at once at most."""

NUMBERS = 2**20
"""Numbers that are worked on at once at most, unless one column has more. What is made of them
stays near the processor, and a few columns of many draws keep several threads busy."""


def by_columns(
    function: Callable[..., tuple[np.ndarray, ...]], *arrays: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return what a function gives for all columns, computed for a few of them in each thread.

    Args:
        function: of arrays with k columns each, for any k, real ones in double precision; it
            returns arrays with k columns, or of shape (k,).
        arrays: with as many columns each, or of shape (columns,).
    """
    total = max(arrays[0].shape[-1], 1)
    each = int(np.clip(NUMBERS * total // max(arrays[0].size, 1), 1, COLUMNS))

    def block(at: int) -> tuple[np.ndarray, ...]:
        # A copy, because columns of a long row are far apart in memory.
        some = (np.ascontiguousarray(x[..., at : at + each]) for x in arrays)
        return function(*(x.astype(np.float64) if x.dtype.kind == "f" else x for x in some))

    blocks = in_threads(block, range(0, total, each))
    return tuple(np.concatenate(parts, axis=-1) for parts in zip(*blocks, strict=True))


def in_threads(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Return what a function that calls NumPy gives for each item, computed in several threads."""
    return [function(items[0])] if len(items) == 1 else list(_threads().map(function, items))


@cache
def _threads() -> ThreadPoolExecutor:
    # NumPy does not hold Python's lock while it computes.
    return ThreadPoolExecutor(os.cpu_count(), "numpyro_sgmcmc_verdict")
