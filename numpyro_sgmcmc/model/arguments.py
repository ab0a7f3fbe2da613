"""Model arguments, split into arrays that JAX may trace and other Python objects."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

BLOCK = 2**24
"""Bytes of an array that are looked at together."""

ALIGNMENT = 64
"""Bytes. JAX uses an array where it is, on a CPU, if its address is a multiple of this number."""


def split_arguments(
    args: tuple, kwargs: dict
) -> tuple[list[Any], Callable[[list[Any]], tuple[tuple, dict]]]:
    """Return the arrays among the arguments, and a function that puts arrays back in their places.

    One-time work is compiled with the arrays as inputs. As constants they would be stored twice,
    and the compiler would spend time on constant folding.
    """
    leaves, tree = jax.tree.flatten((args, kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, jax.Array | np.ndarray)]
    arrays = [leaves[i] for i in places]
    others = [None if i in places else leaf for i, leaf in enumerate(leaves)]

    def rebuild(replacements: list[Any]) -> tuple[tuple, dict]:
        filled = list(others)  # A copy, so that a cached program does not keep the data alive.
        for place, array in zip(places, replacements, strict=True):
            filled[place] = array
        return jax.tree.unflatten(tree, filled)

    return arrays, rebuild


def are_alike(some: tuple[tuple, dict], others: tuple[tuple, dict]) -> bool:
    """Return whether two sets of arguments differ at most in the entries of their arrays."""
    (leaves, tree), (other_leaves, other_tree) = map(jax.tree.flatten, (some, others))
    return tree == other_tree and all(map(_is_alike, leaves, other_leaves))


def _is_alike(leaf: Any, other: Any) -> bool:
    if isinstance(leaf, jax.Array | np.ndarray):
        return (
            isinstance(other, jax.Array | np.ndarray)
            and leaf.shape == other.shape
            and leaf.dtype == other.dtype
        )
    return leaf is other or (isinstance(leaf, bool | int | float | str) and _is_same(leaf, other))


def _is_same(leaf: Any, other: Any) -> bool:
    return type(leaf) is type(other) and leaf == other


def as_jax_arrays(args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Return the arguments with NumPy arrays as JAX arrays, which accept a traced index.

    Arrays in a file are not read into memory, and arrays that cannot be edited are not copied. This
    needs the CPU as the device, and a type that JAX has.
    """

    def convert(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        may_be_shared = isinstance(leaf, np.memmap) or not leaf.flags.writeable
        return jax.device_put(leaf) if may_be_shared else jnp.asarray(leaf)

    return jax.tree.map(convert, (args, kwargs))


def non_finite_arguments(args: tuple, kwargs: dict) -> list[str]:
    """Return the names of concrete array arguments with NaN or infinite entries."""
    named = jax.tree_util.tree_leaves_with_path((args, kwargs))
    return [_name(path) for path, leaf in named if _has_non_finite(leaf)]


def copied_files(args: tuple, kwargs: dict, least: int) -> dict[str, str]:
    """Return why large arrays in files would be copied into memory, by the names of arguments.

    Args:
        args: the model's positional arguments.
        kwargs: its keyword arguments.
        least: bytes of an array that is large.
    """
    named = jax.tree_util.tree_leaves_with_path((args, kwargs))
    files = [(_name(path), x) for path, x in named if isinstance(x, np.memmap)]
    found = {name: _why_copied(x) for name, x in files if x.nbytes >= least}
    return {name: why for name, why in found.items() if why}


def _why_copied(array: np.memmap) -> str:
    wanted = jax.dtypes.canonicalize_dtype(array.dtype)
    if wanted != array.dtype or not array.dtype.isnative:
        return f"its type is {array.dtype.str}, and JAX takes {wanted.newbyteorder('=').str}"
    if not array.flags.c_contiguous:
        return "its rows are not one after the other in the file"
    if array.ctypes.data % ALIGNMENT:
        return f"it does not begin at a multiple of {ALIGNMENT} bytes of the file"
    return ""


def _has_non_finite(leaf: Any) -> bool:
    if isinstance(leaf, Tracer) or not isinstance(leaf, jax.Array | np.ndarray):
        return False
    if not jnp.issubdtype(leaf.dtype, jnp.floating):
        return False
    return not all(np.isfinite(block).all() for block in in_blocks(np.asarray(leaf)))


def in_blocks(array: np.ndarray, size: int = BLOCK) -> Iterator[np.ndarray]:
    """Return parts of an array along its first axis, in order, of about so many bytes each."""
    if array.ndim == 0 or array.nbytes <= size:
        yield array
        return
    rows = max(1, size * len(array) // array.nbytes)
    for begin in range(0, len(array), rows):
        yield array[begin : begin + rows]


def _name(path: tuple[Any, ...]) -> str:
    kind, *rest = path
    if kind.idx == 0:
        return f"positional argument {rest[0].idx}" + jax.tree_util.keystr(tuple(rest[1:]))
    return f"argument {rest[0].key!r}" + jax.tree_util.keystr(tuple(rest[1:]))
