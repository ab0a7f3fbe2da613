"""Evenly spaced draws and entries, enough to judge a run by."""

import math
from typing import Any, final

import jax
import numpy as np

ENTRIES = 256
"""Entries of a site that are looked at."""


def by_site(draws: Any) -> dict[str, Any]:
    """Return the arrays of draws by site; a kernel without sites has names by place."""
    if isinstance(draws, dict) and not any(isinstance(x, dict) for x in draws.values()):
        return draws
    paths = jax.tree_util.tree_leaves_with_path(draws)
    return {jax.tree_util.keystr(path) or "draws": leaf for path, leaf in paths}


def stride_of(count: int, kept: int) -> int:
    """Return the power of two that thins so many draws to `kept` or fewer."""
    stride = 1
    while count > stride * kept:
        stride *= 2
    return stride


def some_entries(array: np.ndarray) -> np.ndarray:
    """Return draws (chain, draw, ...) as (chain, draw, entry) with at most `ENTRIES` of them."""
    size = math.prod(array.shape[2:])
    flat = array.reshape(*array.shape[:2], size)
    if size <= ENTRIES:
        return flat
    return flat[..., np.linspace(0, size - 1, ENTRIES).round().astype(int)]


def sampled(draws: dict[str, Any], kept: int) -> dict[str, np.ndarray]:
    """Return at most `kept` draws of each site, evenly spaced, as (chain, draw, entry)."""
    found = {}
    for name, array in draws.items():
        stride = stride_of(array.shape[1], kept)
        found[name] = some_entries(np.asarray(array[:, ::stride]))
    return found


@final
class History:
    """The draws that `sampled` returns, collected as they come, in memory of a bounded size.

    Args:
        kept: most draws of a chain.
    """

    def __init__(self, kept: int) -> None:
        self._kept, self._stride, self._count = kept, 1, 0
        self._parts: dict[str, np.ndarray] = {}

    def add(self, draws: dict[str, np.ndarray]) -> None:
        """Add draws by site, (chain, draw, ...), to those before."""
        if not draws:
            return
        first = -self._count % self._stride
        self._count += next(iter(draws.values())).shape[1]
        chosen = {
            n: some_entries(np.asarray(x[:, first :: self._stride])) for n, x in draws.items()
        }
        old = self._parts or {n: x[:, :0] for n, x in chosen.items()}
        wanted = stride_of(self._count, self._kept)
        more = wanted // self._stride
        self._parts = {
            n: np.concatenate([old[n], x], 1)[:, ::more].copy() for n, x in chosen.items()
        }
        self._stride = wanted

    def draws(self) -> dict[str, np.ndarray]:
        """Return the draws by site, (chain, draw, entry)."""
        return self._parts
