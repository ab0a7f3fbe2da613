"""Leaves of states: copies that own their memory, and host copies."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.latents import LatentState


def is_key(leaf: Any) -> bool:
    """Return whether a leaf holds typed keys."""
    return isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def owned(state: Any, is_new: bool = False) -> Any:
    """Return the state with leaves that share no memory, so that a program may reuse it.

    If a kernel has just made the state, its latents of rows are nobody else's. They may take most
    of the memory, and are not copied.
    """
    if not is_new:
        return jax.tree.map(_copied, state)
    is_latents = lambda node: isinstance(node, LatentState)  # noqa: E731
    return jax.tree.map(_but_rows, state, is_leaf=is_latents)


def strong(state: Any, sample: Callable[[Any], Any]) -> Any:
    """Return the state with the types that `sample` returns.

    The first state may hold arrays of a weak type, such as a step size from a Python number, where
    later states do not. A program would be compiled for both.
    """
    if not any(getattr(leaf, "weak_type", False) for leaf in jax.tree.leaves(state)):
        return state
    moved = jax.eval_shape(sample, state)
    return jax.tree.map(_as_strong, state, moved)


def on_host(state: Any) -> Any:
    """Return the leaves as NumPy arrays that own their memory; typed keys stay."""
    return jax.tree.map(lambda x: x if is_key(x) else np.array(x), owned(state))


def _but_rows(node: Any) -> Any:
    if not isinstance(node, LatentState):
        return _copied(node)
    others = node._replace(rows=None)
    return jax.tree.map(_copied, others)._replace(rows=node.rows)


def _copied(leaf: Any) -> Any:
    if is_key(leaf):
        return jax.random.wrap_key_data(
            jnp.copy(jax.random.key_data(leaf)), impl=jax.random.key_impl(leaf)
        )
    return jnp.array(leaf, copy=True)


def _as_strong(leaf: Any, wanted: Any) -> Any:
    if getattr(leaf, "weak_type", False) and not wanted.weak_type:
        return jax.lax.convert_element_type(leaf, wanted.dtype)
    return leaf
