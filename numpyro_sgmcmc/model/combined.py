"""Scales by which a model multiplies sums of effects: `spread * jnp.cumsum(x)`, `spread * (B @ x)`.

Sums whose coefficients do not depend on x commute with the scale: s (L x) = L (s x). So s x are
the effects in their centred form, as in `jnp.cumsum(spread * x)`.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

import jax.numpy as jnp
from jax.extend.core import Jaxpr, Literal

from numpyro_sgmcmc.model.gathered import INDICES

OF_ENTRIES = frozenset(
    {
        *("add", "sub", "add_any", "neg", "convert_element_type", "copy"),
        *("reshape", "squeeze", "transpose", "rev", "broadcast_in_dim"),
        *("slice", "pad", "concatenate", "reduce_sum", "cumsum"),
    }
)
"""Primitives that are linear in all their inputs together."""

OF_FIRST = frozenset({"div", "gather", "dynamic_slice"})
"""Primitives that are linear in their first input."""

OF_EACH = frozenset({"mul", "dot_general"})
"""Primitives of two inputs that are linear in each of them."""


class Kind(Enum):
    """What a variable is made of."""

    DATA = "no latent site"
    SITES = "latent sites other than x"
    COMBINED = "sums over x, whose coefficients come from the data or from matrices of other sites"
    OTHER = "x in another way"


def scales_of_combinations(jaxpr: Jaxpr, x: Any, sources: dict[Any, frozenset]) -> Iterator[Any]:
    """Yield the scalars, of other latent sites, by which the model multiplies combinations of x.

    Args:
        jaxpr: of the model.
        x: the variable of an array of effects.
        sources: of each variable, the sites that it depends on.
    """
    given = {v: Kind.DATA if sources[v] <= {INDICES} else Kind.SITES for v in jaxpr.invars}
    kinds = _kinds(jaxpr, list((given | {x: Kind.COMBINED}).values()))
    wide: dict[Any, Any] = {}
    for equation in jaxpr.eqns:
        inputs: list[Any] = [v for v in equation.invars if not isinstance(v, Literal)]
        name = equation.primitive.name
        if name == "broadcast_in_dim" and inputs and inputs[0].aval.shape == ():
            wide[equation.outvars[0]] = inputs[0]
        elif name == "mul" and len(inputs) == 2:
            for one, other in (inputs, inputs[::-1]):
                scale = wide.get(other, other)
                is_scale = scale.aval.shape == () and kinds.get(scale) is Kind.SITES
                if is_scale and kinds.get(one) is Kind.COMBINED:
                    yield scale


def _kinds(jaxpr: Jaxpr, given: Sequence[Kind]) -> dict[Any, Kind]:
    """Return what each variable of a jaxpr is made of, given that of its inputs."""
    known: dict[Any, Kind] = dict(zip(jaxpr.invars, given, strict=True))

    def kind(variable: Any) -> Kind:
        return Kind.DATA if isinstance(variable, Literal) else known.get(variable, Kind.DATA)

    for equation in jaxpr.eqns:
        inputs = [kind(v) for v in equation.invars]
        if equation.primitive.name in ("jit", "pjit"):
            inner = equation.params["jaxpr"].jaxpr
            inside = _kinds(inner, inputs)
            found = [
                Kind.DATA if isinstance(v, Literal) else inside.get(v, Kind.DATA)
                for v in inner.outvars
            ]
        else:
            found = [_kind_of_output(equation, inputs)] * len(equation.outvars)
        known.update(zip(equation.outvars, found, strict=True))
    return known


def _kind_of_output(equation: Any, inputs: list[Kind]) -> Kind:
    if Kind.OTHER in inputs:
        return Kind.OTHER
    if Kind.COMBINED not in inputs:
        return Kind.SITES if Kind.SITES in inputs else Kind.DATA
    name, array = equation.primitive.name, equation.outvars[0].aval
    if Kind.SITES in inputs and name != "dot_general":
        return Kind.OTHER
    is_linear = (
        name in OF_ENTRIES
        or (name in OF_FIRST and Kind.COMBINED not in inputs[1:])
        or (name in OF_EACH and inputs.count(Kind.COMBINED) == 1)
    )
    # A conversion to integers is not linear.
    is_linear = is_linear and jnp.issubdtype(array.dtype, jnp.floating)
    return Kind.COMBINED if is_linear else Kind.OTHER
