"""Analysis of how the outputs of a function depend on its argument."""

from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import Literal


def depends_on(fn: Callable[[Any], dict[str, Any]], argument: Any) -> dict[str, bool]:
    """Return, for each entry of `fn(argument)`, whether it depends on the argument.

    This is read from the jaxpr, which is not run. All outputs of an equation count as dependent on
    all its inputs, so some entries may be reported as dependent although they are not.
    """
    found = sources_of(lambda only: fn(only["argument"]), {"argument": argument})
    return {name: bool(sources) for name, sources in found.items()}


def sources_of(
    fn: Callable[[dict[str, Any]], dict[str, Any]], arguments: dict[str, Any]
) -> dict[str, frozenset[str]]:
    """Return, for each entry of `fn(arguments)`, the arguments that it depends on.

    As for `depends_on`, some of them may be reported although the entry does not depend on them.
    """
    jaxpr, shapes = jax.make_jaxpr(fn, return_shape=True)(arguments)
    names = [path[0].key for path, _ in jax.tree_util.tree_leaves_with_path(arguments)]
    found = _propagated(jaxpr.jaxpr, [frozenset({name}) for name in names])
    by_entry = jax.tree.unflatten(jax.tree.structure(shapes), found)
    is_set = lambda x: isinstance(x, frozenset)  # noqa: E731
    return {
        name: frozenset().union(*jax.tree.leaves(entry, is_leaf=is_set))
        for name, entry in by_entry.items()
    }


def sources_by_variable(jaxpr: Any, inputs: list[frozenset[Any]]) -> dict[Any, frozenset[Any]]:
    """Return the sources of each variable of a jaxpr, from those of its inputs."""
    known = dict(zip(jaxpr.invars, inputs, strict=True))
    for equation in jaxpr.eqns:
        given = [_sources(known, variable) for variable in equation.invars]
        if equation.primitive.name in ("jit", "pjit"):
            found = _propagated(equation.params["jaxpr"].jaxpr, given)
        else:
            found = [frozenset().union(*given)] * len(equation.outvars)
        known.update(zip(equation.outvars, found, strict=True))
    return known


def _propagated(jaxpr: Any, inputs: list[frozenset[Any]]) -> list[frozenset[Any]]:
    """Return the sources of the outputs of a jaxpr, from those of its inputs."""
    known = sources_by_variable(jaxpr, inputs)
    return [_sources(known, variable) for variable in jaxpr.outvars]


def _sources(known: dict[Any, frozenset[Any]], variable: Any) -> frozenset[Any]:
    return frozenset() if isinstance(variable, Literal) else known.get(variable, frozenset())


def depends_through(
    fn: Callable[[Any], dict[str, Any]], argument: Any, entries: int
) -> dict[str, bool]:
    """Return, for each entry of `fn(argument)`, whether it is computed through large arrays.

    An array counts as large if it depends on the argument and has at least `entries` entries.
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
    """Return the size of the largest output of an equation or of the equations inside it."""
    found = max((_size(v) for v in equation.outvars), default=0)
    for part in jax.tree.leaves(equation.params, is_leaf=lambda x: hasattr(x, "eqns")):
        for inner in getattr(part, "eqns", ()):
            found = max(found, _most_entries(inner))
    return found


def _size(variable: Any) -> int:
    return getattr(variable.aval, "size", 0)
