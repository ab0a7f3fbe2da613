"""Keys that identify parts by value, for the names of compiled programs."""

from collections.abc import Hashable
from typing import Any, final

import jax
import numpy as np
from jax.core import Tracer


def identity_of(part: Any) -> Hashable:
    """Return a hashable key that is equal only for parts of equal type, options and values.

    Dataclasses compare by their fields, but arrays in fields have no hash and no single truth
    value. Here arrays are compared by shape, type and content. Other leaves are compared by their
    own equality if they are hashable, else by identity. Tracers are compared by identity.
    """
    leaves, tree = jax.tree.flatten(part)
    return tree, tuple(map(_of_leaf, leaves))


def _of_leaf(leaf: Any) -> Hashable:
    if isinstance(leaf, Tracer):
        return _Same(leaf)
    if isinstance(leaf, jax.Array | np.ndarray):
        array = np.asarray(leaf)
        return array.shape, str(array.dtype), array.tobytes()
    try:
        hash(leaf)
    except TypeError:
        return _Same(leaf)
    return type(leaf), leaf


@final
class _Same:
    """A wrapper that compares an object by identity and keeps it alive."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.held is other.held

    def __hash__(self) -> int:
        return id(self.held)
