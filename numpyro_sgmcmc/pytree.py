"""Registration of dataclasses as pytrees whose structure includes their class.

In JAX 0.10 to 0.12, two classes that `jax.tree_util.register_dataclass` registers have equal
structures if they have equally many data fields and equal static ones. A compiled function
compares the structures of its arguments, so it can run the program of another class, for example
that of another dynamics. It does so only where the hashes of both structures also fall into one
place of JAX's table, which depends on memory addresses.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import jax

Class = TypeVar("Class", bound=type)


def as_pytree(*, static: tuple[str, ...] = ()) -> Callable[[Class], Class]:
    """Return a decorator that registers a dataclass as a pytree.

    Args:
        static: names of fields that are part of the structure; they must be hashable. All other
            fields are children.

    Raises:
        ValueError: if a name is not that of a field.
    """

    def register(kind: Class) -> Class:
        fields = [field.name for field in dataclasses.fields(kind)]
        for name in static:
            if name not in fields:
                raise ValueError(f"Expected static fields among {', '.join(fields)}; got {name!r}.")
        children = tuple(name for name in fields if name not in static)
        keys = tuple(jax.tree_util.GetAttrKey(name) for name in children)

        def flatten(part: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
            structure = tuple(getattr(part, name) for name in static)
            return tuple(getattr(part, name) for name in children), structure

        def flatten_with_keys(part: Any) -> tuple[Any, tuple[Any, ...]]:
            values, structure = flatten(part)
            return tuple(zip(keys, values, strict=True)), structure

        def unflatten(structure: tuple[Any, ...], values: Any) -> Any:
            return kind(**dict(zip(children + static, (*values, *structure), strict=True)))

        jax.tree_util.register_pytree_with_keys(kind, flatten_with_keys, unflatten, flatten)
        return kind

    return register
