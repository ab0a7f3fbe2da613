"""Which outputs of a function depend on its argument, and through how large arrays."""

from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import Literal


def depends_on(fn: Callable[[Any], dict[str, Any]], argument: Any) -> dict[str, bool]:
    """Return, for each entry of `fn(argument)`, whether any of its values is computed from it.

    Read from the jaxpr without running it. An equation makes all its outputs depend on all its
    inputs, so the answer errs on the side of yes.
    """
    jaxpr, shapes = jax.make_jaxpr(fn, return_shape=True)(argument)
    tainted = set(jaxpr.jaxpr.invars)
    for equation in jaxpr.eqns:
        if any(not isinstance(v, Literal) and v in tainted for v in equation.invars):
            tainted.update(equation.outvars)
    flags = [not isinstance(v, Literal) and v in tainted for v in jaxpr.jaxpr.outvars]
    flat = jax.tree.unflatten(jax.tree.structure(shapes), flags)
    return {name: any(jax.tree.leaves(entry)) for name, entry in flat.items()}


def depends_through(
    fn: Callable[[Any], dict[str, Any]], argument: Any, entries: int
) -> dict[str, bool]:
    """Return, for each entry of `fn(argument)`, whether large arrays lead to it from the argument.

    Large are arrays of at least so many entries that are computed from the argument.
    """
    jaxpr, shapes = jax.make_jaxpr(fn, return_shape=True)(argument)
    tainted, large = set(jaxpr.jaxpr.invars), set()
    for equation in jaxpr.eqns:
        inputs = [v for v in equation.invars if not isinstance(v, Literal)]
        if not any(v in tainted for v in inputs):
            continue
        tainted.update(equation.outvars)
        if any(v in large for v in inputs) or _most_entries(equation) >= entries:
            large.update(equation.outvars)
    flags = [not isinstance(v, Literal) and v in large for v in jaxpr.jaxpr.outvars]
    flat = jax.tree.unflatten(jax.tree.structure(shapes), flags)
    return {name: any(jax.tree.leaves(entry)) for name, entry in flat.items()}


def _most_entries(equation: Any) -> int:
    """Return the size of the largest array that an equation makes, in itself or in its parts."""
    found = max((_size(v) for v in equation.outvars), default=0)
    for part in jax.tree.leaves(equation.params, is_leaf=lambda x: hasattr(x, "eqns")):
        for inner in getattr(part, "eqns", ()):
            found = max(found, _most_entries(inner))
    return found


def _size(variable: Any) -> int:
    return getattr(variable.aval, "size", 0)
