"""Which outputs of a function depend on its argument."""

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
