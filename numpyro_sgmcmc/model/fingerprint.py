"""Identification of a model's data by content, because arrays can be edited in place."""

import weakref
import zlib
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from numpyro_sgmcmc.model.arguments import in_blocks

GLIMPSED = 32
"""Number of entries of each array that a compiled program compares, at a cost independent of N."""

_PRIME = 0x9E3779B1  # An odd multiplier near 2^32 / golden ratio, which spreads bits.


class Fingerprint(NamedTuple):
    """Identifies a model's arguments.

    Attributes:
        layout: structure, shapes and types of the arguments; values of strings, and identities of
            other objects.
        content: checksum of the entries of all arrays and numbers (CRC-32, never 0). While JAX is
            tracing, entries are not known, and the identities of the tracers are added.
    """

    layout: Any
    content: int | tuple[int, ...]

    @property
    def is_known(self) -> bool:
        """Whether the entries could be read."""
        return isinstance(self.content, int)


def fingerprint(args: tuple, kwargs: dict) -> Fingerprint:
    """Return the fingerprint of a model's arguments."""
    leaves, tree = jax.tree.flatten((args, kwargs))
    layout, traced, content = [], [], 1
    for leaf in leaves:
        if isinstance(leaf, Tracer):
            layout.append((leaf.shape, str(leaf.dtype)))
            traced.append(id(leaf))
            continue
        array = _as_array(leaf)
        if array is None:
            layout.append(leaf if isinstance(leaf, str | bytes) else (type(leaf), id(leaf)))
            continue
        layout.append((array.shape, str(_type_of(array))))
        content = zlib.crc32(_checksum(leaf, array).to_bytes(4, "little"), content)
    return Fingerprint((tree, tuple(layout)), (content, *traced) if traced else content or 1)


def edited_in_place(args: tuple, kwargs: dict, others: tuple[tuple, dict]) -> bool:
    """Return whether the arguments share a NumPy array object with the others.

    If their fingerprints differ nevertheless, the array has been edited in place.
    """
    mine, theirs = jax.tree.leaves((args, kwargs)), jax.tree.leaves(others)
    pairs = zip(mine, theirs, strict=False)
    return any(a is b and isinstance(a, np.ndarray) for a, b in pairs)


def glimpse(args: tuple, kwargs: dict) -> Any:
    """Return a checksum of a few entries of each array, shape (), uint32.

    The function can be traced, so that a compiled program whose inputs are the data can compare the
    checksum at each iteration.
    """
    mixed: list[Any] = [np.zeros(1, np.uint32)]
    for place, leaf in enumerate(jax.tree.leaves((args, kwargs))):
        array = leaf if isinstance(leaf, Tracer) else _as_array(leaf)
        if array is None or array.size == 0:
            continue
        bits = _bits(array, np.unique(np.linspace(0, array.size - 1, GLIMPSED).astype(np.int64)))
        weights = (2 * np.arange(bits.size) + 1) * (2 * place + 1) * _PRIME % 2**32
        mixed.append((bits ^ (bits >> np.uint32(15))) * weights.astype(np.uint32))
    is_traced = any(isinstance(one, Tracer) for one in mixed)
    return (jnp if is_traced else np).concatenate(mixed).sum(dtype=np.uint32)


def _bits(array: Any, places: np.ndarray) -> Any:
    """Return the bits of the entries at these places of the flattened array, as uint32."""
    entries = array.reshape(-1)[places]
    if not isinstance(array, Tracer):
        return _words(np.asarray(entries, _type_of(array)))
    if jnp.issubdtype(entries.dtype, jnp.complexfloating):
        entries = jnp.stack([entries.real, entries.imag], axis=-1)
    if entries.dtype == bool:
        entries = entries.astype(np.uint8)
    size = entries.dtype.itemsize
    unsigned = np.dtype(f"uint{8 * min(size, 4)}")
    return jax.lax.bitcast_convert_type(entries, unsigned).reshape(-1).astype(np.uint32)


def _words(entries: np.ndarray) -> np.ndarray:
    size = min(entries.dtype.itemsize, 4)
    return np.ascontiguousarray(entries).view(f"uint{8 * size}").reshape(-1).astype(np.uint32)


def _as_array(leaf: Any) -> np.ndarray | None:
    """Return an argument as a NumPy array; None for other objects."""
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    is_number = isinstance(leaf, bool | int | float | complex)
    if not (is_number or isinstance(leaf, jax.Array | np.ndarray) or hasattr(leaf, "__array__")):
        return None
    array = np.asarray(leaf)
    return array if array.dtype.kind in "biufcV" else None  # V: bfloat16 and similar types


def _type_of(array: np.ndarray) -> np.dtype:
    """Return the type that JAX gives an array."""
    return jax.dtypes.canonicalize_dtype(array.dtype)


_SEEN: dict[int, tuple[weakref.ref, int]] = {}
"""Checksums of the JAX arrays that are alive; these arrays cannot be edited."""


def _checksum(leaf: Any, array: np.ndarray) -> int:
    if not isinstance(leaf, jax.Array):
        return checksum(array)
    known = _SEEN.get(id(leaf))
    if known is not None and known[0]() is leaf:
        return known[1]
    value, place = checksum(array), id(leaf)
    _SEEN[place] = (weakref.ref(leaf, lambda _: _SEEN.pop(place, None)), value)
    return value


def checksum(array: np.ndarray) -> int:
    """Return the CRC-32 of all entries, as the type that JAX gives them."""
    found, wanted = 0, _type_of(array)
    for block in in_blocks(array):
        entries = np.ascontiguousarray(block, wanted)
        found = zlib.crc32(entries.reshape(-1).view(np.uint8).data, found)
    return found
