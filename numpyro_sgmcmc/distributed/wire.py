"""Typed keys as data, because neither NumPy nor pickle knows them."""

from typing import Any

import jax

from numpyro_sgmcmc.driving.leaves import is_key

PLAIN = ""
"""The kind of a leaf that is no typed key."""


def kinds_of(tree: Any) -> Any:
    """Return the kinds of a pytree's leaves: the implementation of typed keys, else `PLAIN`."""
    return jax.tree.map(lambda x: str(jax.random.key_impl(x)) if is_key(x) else PLAIN, tree)


def unwrapped(tree: Any) -> Any:
    """Return a pytree with the data of its typed keys."""
    return jax.tree.map(lambda x: jax.random.key_data(x) if is_key(x) else x, tree)


def wrapped(kinds: Any, tree: Any) -> Any:
    """Return a pytree with typed keys in place of their data."""

    def one(kind: str, leaf: jax.Array) -> jax.Array:
        return leaf if kind == PLAIN else jax.random.wrap_key_data(leaf, impl=kind)

    return jax.tree.map(one, kinds, tree)
