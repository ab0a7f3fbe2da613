"""Identity by value: what tells one part from another in the name of a compiled program."""

from collections.abc import Hashable
from typing import Any, final

import jax
import numpy as np
from jax.core import Tracer


def identity_of(part: Any) -> Hashable:
    """Return a key that is equal for parts of equal type, options and numbers, and for no others.

    Dataclasses compare by their fields, but arrays in those are neither hashed nor compared as one.
    Here arrays count by shape, type and content. A part that is no pytree counts by its own
    equality where it is hashable, else by identity, as does what JAX traces.
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
    """An object that equals itself alone, and lives as long as the key that holds it."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.held is other.held

    def __hash__(self) -> int:
        return id(self.held)
