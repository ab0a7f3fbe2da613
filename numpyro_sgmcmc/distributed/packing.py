"""Pytrees as a few vectors, because each array of a compiled call costs about 2 µs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.distributed.wire import kinds_of, unwrapped, wrapped

SMALL = 1_024
"""Entries up to which an array is copied: in less than 1 µs."""


class Packed(NamedTuple):
    """A pytree in vectors.

    Attributes:
        vectors: the entries of all small leaves of a dtype, (n,), by its name.
        large: the other leaves, as they are.
    """

    vectors: dict[str, Any]
    large: list[Any]


class _Place(NamedTuple):
    """Where a leaf is: among the entries of its dtype, or among the large leaves."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    is_small: bool


@final
@dataclass(frozen=True)
class Packing:
    """Where each leaf of a pytree is. Typed keys are packed as their data.

    Attributes:
        tree: the structure.
        kinds: of the leaves (`wire.py`).
        places: of the leaves.
    """

    tree: Any
    kinds: Any
    places: tuple[_Place, ...]

    def packed(self, tree: Any) -> Packed:
        """Return a pytree as vectors; within a compiled program."""
        vectors: dict[str, list[jax.Array]] = {}
        large = []
        for place, leaf in zip(self.places, jax.tree.leaves(unwrapped(tree)), strict=True):
            if place.is_small:
                vectors.setdefault(place.dtype, []).append(jnp.ravel(leaf))
            else:
                large.append(leaf)
        return Packed({name: jnp.concatenate(parts) for name, parts in vectors.items()}, large)

    def zeros(self) -> Any:
        """Return a pytree of zeros; not for typed keys."""
        leaves = [jnp.zeros(place.shape, place.dtype) for place in self.places]
        return jax.tree.unflatten(self.tree, leaves)

    def unpacked(self, packed: Packed) -> Any:
        """Return the pytree again; within a compiled program."""
        return wrapped(self.kinds, jax.tree.unflatten(self.tree, self._leaves(packed)))

    def on_host(self, each: Sequence[Packed]) -> Any:
        """Return pytrees as one of NumPy arrays with an axis for them; typed keys as their data."""
        stacked = jax.tree.map(lambda *arrays: np.stack([np.asarray(x) for x in arrays]), *each)
        return jax.tree.unflatten(self.tree, self._leaves(stacked))

    def _leaves(self, packed: Packed) -> list[Any]:
        large = iter(packed.large)
        return [
            _entries(packed.vectors[one.dtype], one) if one.is_small else next(large)
            for one in self.places
        ]


def _entries(vector: Any, place: _Place) -> Any:
    """Return a leaf's entries, with the axes before the last one."""
    found = vector[..., place.start : place.start + prod(place.shape)]
    return found.reshape(*vector.shape[:-1], *place.shape)


def packing_of(make: Callable, *inputs: Any) -> Packing:
    """Return where the leaves of what a function makes go; it is not computed."""
    kinds: list[Any] = []

    def made(*inputs: Any) -> Any:
        tree = make(*inputs)
        kinds.append(kinds_of(tree))  # abstract keys do not tell their implementation
        return unwrapped(tree)

    data = jax.eval_shape(made, *inputs)
    ends: dict[str, int] = {}
    places = []
    for leaf in jax.tree.leaves(data):
        name, size = str(leaf.dtype), prod(leaf.shape)
        start = ends.get(name, 0)
        places.append(_Place(name, leaf.shape, start, size <= SMALL))
        if size <= SMALL:
            ends[name] = start + size
    return Packing(jax.tree.structure(data), kinds[0], tuple(places))
