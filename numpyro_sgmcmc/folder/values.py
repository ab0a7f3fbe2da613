"""Values made of tuples, dataclasses and arrays, as JSON and arrays, without pickle."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

OURS = "numpyro_sgmcmc."


def encoded(value: Any, arrays: list[np.ndarray]) -> Any:
    """Return a value as JSON can hold it; its arrays are appended to `arrays`.

    Raises:
        TypeError: if the value has a part of another kind.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        arrays.append(np.asarray(value))
        return {"array": len(arrays) - 1}
    if isinstance(value, dict):
        return {"dict": [[name, encoded(part, arrays)] for name, part in value.items()]}
    if isinstance(value, list) or type(value) is tuple:
        return {type(value).__name__: [encoded(part, arrays) for part in value]}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        named: Any = value
        parts = named._asdict().items()
    elif is_dataclass(value) and not isinstance(value, type):
        parts = ((f.name, getattr(value, f.name)) for f in fields(value))
    else:
        raise TypeError(
            f"Expected parts that are dataclasses, named tuples or arrays with a `folder`; got"
            f" {value!r}. Leave `folder` out, or make the part a dataclass."
        )
    kind = type(value)
    inside = {name: encoded(part, arrays) for name, part in parts}
    return {"class": f"{kind.__module__}:{kind.__qualname__}", "parts": inside}


def decoded(value: Any, arrays: dict[int, np.ndarray], known: Iterable[type] = ()) -> Any:
    """Return the value that `encoded` was given.

    A file names only classes of this package, or those in `known`; no other code is run.

    Raises:
        ValueError: if another class is named.
    """
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return jnp.asarray(arrays[value["array"]])
    if "dict" in value:
        return {name: decoded(part, arrays, known) for name, part in value["dict"]}
    for kind in (list, tuple):
        if kind.__name__ in value:
            return kind(decoded(part, arrays, known) for part in value[kind.__name__])
    found = _class(value["class"], known)
    parts = {name: decoded(part, arrays, known) for name, part in value["parts"].items()}
    if issubclass(found, tuple):
        return found(**parts)
    made = object.__new__(found)  # the checks of a constructor are for users' arguments
    for name, part in parts.items():
        object.__setattr__(made, name, part)
    return made


def classes_of(value: Any) -> set[type]:
    """Return the classes of a value and of its parts."""
    found = {type(value)}
    if is_dataclass(value) and not isinstance(value, type):
        for f in fields(value):
            found |= classes_of(getattr(value, f.name))
    return found


def _class(name: str, known: Iterable[type]) -> type:
    for kind in known:
        if f"{kind.__module__}:{kind.__qualname__}" == name:
            return kind
    module, _, path = name.partition(":")
    if module.startswith(OURS) and path.isidentifier():
        found = getattr(import_module(module), path, None)
        if isinstance(found, type) and (is_dataclass(found) or hasattr(found, "_fields")):
            return found
    raise ValueError(
        f"Expected a class of numpyro_sgmcmc, or of the kernel's options, in a checkpoint; got"
        f" {name!r}. Use the kernel that the run was started with."
    )
