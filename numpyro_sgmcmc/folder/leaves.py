"""The arrays of a state in a file, and the state made of them again."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def as_arrays(state: Any) -> tuple[list[np.ndarray], list[dict[str, Any]]]:
    """Return the leaves of a state, typed keys by their words, and what describes each."""
    arrays, described = [], []
    for path, leaf in jax.tree_util.tree_leaves_with_path(state):
        words = {"name": jax.tree_util.keystr(path)}
        if _is_key(leaf):
            words["key"] = str(jax.random.key_impl(leaf))
            leaf = jax.random.key_data(leaf)
        array = np.asarray(leaf)
        arrays.append(array)
        described.append(words | {"dtype": str(array.dtype), "shape": list(array.shape)})
    return arrays, described


def as_state(arrays: list[np.ndarray], described: list[dict[str, Any]], template: Any) -> Any:
    """Return the state of a checkpoint.

    Args:
        arrays: the leaves.
        described: what describes each of them.
        template: shapes and types of the state that the kernel makes for these data.

    Raises:
        ValueError: if the checkpoint's state is of another form.
    """
    expected, tree = jax.tree_util.tree_flatten_with_path(template)
    theirs = [_form(one) for one in described]
    ours = [_form_of(path, leaf) for path, leaf in expected]
    if theirs != ours:
        differing = [f"{a} instead of {b}" for a, b in zip(theirs, ours, strict=False) if a != b]
        differing = differing or [f"{len(theirs)} arrays instead of {len(ours)}"]
        raise ValueError(
            "Expected a checkpoint with the state that this kernel makes; got"
            f" {differing[0]}. The state has changed between versions: use the versions that the"
            " run was started with, or another folder."
        )
    leaves = []
    for array, words in zip(arrays, described, strict=True):
        value = jnp.asarray(_typed(array, words))
        leaves.append(
            jax.random.wrap_key_data(value, impl=words["key"]) if "key" in words else value
        )
    return jax.tree.unflatten(tree, leaves)


def _typed(array: np.ndarray, words: dict[str, Any]) -> np.ndarray:
    dtype = jnp.dtype(words["dtype"])
    return array if array.dtype == dtype else array.view(dtype).reshape(words["shape"])


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _form(words: dict[str, Any]) -> tuple:
    return words["name"], words.get("key"), words["dtype"], tuple(words["shape"])


def _form_of(path: Any, leaf: Any) -> tuple:
    name = jax.tree_util.keystr(path)
    if not _is_key(leaf):
        return name, None, str(np.dtype(leaf.dtype)), tuple(leaf.shape)
    data = jax.eval_shape(jax.random.key_data, jax.ShapeDtypeStruct(leaf.shape, leaf.dtype))
    impl = str(leaf.dtype._impl.name) if hasattr(leaf.dtype, "_impl") else None
    return name, impl, str(data.dtype), tuple(data.shape)
