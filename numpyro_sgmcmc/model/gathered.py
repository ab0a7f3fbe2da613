"""Scales by which a model multiplies rows that it has taken from an array of effects."""

from collections.abc import Iterator
from typing import Any

from jax.extend.core import Jaxpr, Literal

INDICES = ("indices",)
"""The source of what depends on the minibatch; no site has this name."""

RESHAPED = frozenset({"reshape", "squeeze", "convert_element_type", "copy"})
"""Primitives that keep each entry as it is."""


def scales_of_rows(jaxpr: Jaxpr, x: Any, sources: dict[Any, frozenset]) -> Iterator[Any]:
    """Yield what rows of x are multiplied by: arrays that are the same for all rows.

    These are scalars, or arrays of the shape of a row, that depend on latent sites. In the jaxpr of
    `spread * x[group]`, `x[group]` is a gather of x, and `spread` is broadcast to its shape.

    Args:
        jaxpr: of the model.
        x: the variable of an array of effects, whose first axis counts them.
        sources: of each variable, the sites that it depends on.
    """
    rows, wide = set(), {}
    shape: tuple[int, ...] = x.aval.shape
    for equation in jaxpr.eqns:
        if len(equation.outvars) != 1:
            continue
        name = equation.primitive.name
        output: Any = equation.outvars[0]
        inputs: list[Any] = [v for v in equation.invars if not isinstance(v, Literal)]
        if name == "gather" and inputs and inputs[0] is x:
            if equation.params["slice_sizes"] == (1, *shape[1:]):
                rows.add(output)
        elif name in RESHAPED and inputs and inputs[0] in rows:
            rows.add(output)
        elif name == "broadcast_in_dim" and inputs and inputs[0] in rows:
            if output.aval.size == inputs[0].aval.size:
                rows.add(output)
        elif name == "broadcast_in_dim" and inputs:
            last = len(equation.params["shape"])
            trailing = tuple(range(last - len(shape) + 1, last))
            if _is_same_for_rows(inputs[0], shape) and (
                equation.params["broadcast_dimensions"] in {(), trailing}
            ):
                wide[output] = inputs[0]
        elif name == "mul" and len(inputs) == 2:
            for one, other in (inputs, inputs[::-1]):
                if one in rows and not sources.get(other, frozenset()) - {INDICES}:
                    rows.add(output)  # Multiplied by data.
                scale = wide.get(other, other)
                if one in rows and _is_same_for_rows(scale, shape) and sources.get(scale):
                    yield scale


def _is_same_for_rows(variable: Any, shape: tuple[int, ...]) -> bool:
    return variable.aval.shape in {(), shape[1:]}
