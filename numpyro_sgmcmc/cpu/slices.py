"""Slices instead of gathers for minibatches of neighbouring rows.

A model contains `features[index]`, which JAX compiles to a gather: each number is fetched
separately, after its row is looked up. A slice is one copy of memory. JAX cannot know from an index
that its rows are neighbours. The model's jaxpr is therefore searched for the gathers that use a
plate's index.

Only the data themselves are sliced. JAX computes `(features - mean)[index]` for the gathered rows
only, but a branch with a slice would need `features - mean` for all rows at every step.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
from jax.custom_batching import custom_vmap
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun

from numpyro_sgmcmc.cpu.gate import is_on
from numpyro_sgmcmc.types import Minibatch, StochasticPotential

DATA, ROWS, NEVER = "data", "rows", "never"
"""Kinds of variables: a given array, a plate's index, and whether the index is negative."""


def by_slices(potential: StochasticPotential) -> StochasticPotential:
    """Return the same potential, faster for minibatches of neighbouring rows.

    The rows must be r, r + 1, ..., and may continue at 0 after a plate's last row. A block that
    continues at 0 is gathered. So are rows of computed arrays, and rows of vectorised chains with
    their own minibatches. Other uses of an index are not changed.
    """

    def faster(position: jax.Array, minibatch: Minibatch) -> jax.Array:
        if not is_on():
            return potential(position, minibatch)
        leaves, tree = jax.tree.flatten(minibatch)  # The indices, and a key if there is one.
        on_leaves = lambda z, *leaves: potential(z, jax.tree.unflatten(tree, leaves))  # noqa: E731
        closed = jax.make_jaxpr(on_leaves)(position, *leaves)
        plates = len(minibatch.indices)
        kinds = [None, *[ROWS] * plates, *[None] * (len(leaves) - plates)]
        return jaxpr_as_fun(_rewritten(closed, kinds)[0])(position, *leaves)[0]

    return faster


def _rewritten(
    closed: ClosedJaxpr, kinds: Sequence[str | None]
) -> tuple[ClosedJaxpr, list[str | None]]:
    """Return a jaxpr with slices and the kinds of its outputs, given the kinds of its inputs."""
    jaxpr = closed.jaxpr
    known = dict.fromkeys(jaxpr.constvars, DATA) | dict(zip(jaxpr.invars, kinds, strict=True))
    kind_of = lambda v: DATA if isinstance(v, Literal) else known.get(v)  # noqa: E731
    equations = []
    for equation in jaxpr.eqns:
        inputs = [kind_of(v) for v in equation.invars]
        if equation.primitive.name == "jit":
            inner, outputs = _rewritten(equation.params["jaxpr"], inputs)
            equation = equation.replace(params=equation.params | {"jaxpr": inner})
        else:
            outputs = [_kind(equation, inputs)] * len(equation.outvars)
            if equation.primitive.name == "gather" and inputs == [DATA, ROWS]:
                equation = _exchanged(equation)
        equations.append(equation)
        known.update(zip(equation.outvars, outputs, strict=True))
    outputs = [kind_of(v) for v in jaxpr.outvars]
    return closed.replace(jaxpr=jaxpr.replace(eqns=equations)), outputs


def _kind(equation: Any, inputs: list[str | None]) -> str | None:
    """Return the kind of an equation's outputs.

    Before a gather JAX compares an index with 0, replaces negative entries, and converts it to a
    column. A plate's index is never negative (`NEVER`).
    """
    name, first = equation.primitive.name, inputs[:1]
    if first == [ROWS]:
        given, bound, made = equation.invars[0].aval, equation.invars[-1], equation.outvars[0].aval
        is_wide = made.dtype.kind in "iu" and made.dtype.itemsize >= given.dtype.itemsize
        if name == "convert_element_type" and is_wide:
            return ROWS
        if name == "broadcast_in_dim" and made.shape == (*given.shape, 1):
            return ROWS
        if name == "lt" and isinstance(bound, Literal) and bound.val == 0:
            return NEVER
    return inputs[1] if first == [NEVER] and name == "select_n" else None


def _exchanged(gather: Any) -> Any:
    """Return an equation that slices if possible, for gathers of whole rows along one axis."""
    rows, numbers = gather.invars[0].aval.shape, gather.params["dimension_numbers"]
    if gather.invars[1].aval.ndim != 2 or len(numbers.start_index_map) != 1:
        return gather
    (axis,) = numbers.start_index_map
    others = tuple(i for i in range(len(rows)) if i != axis)
    is_whole = all(gather.params["slice_sizes"][i] == rows[i] for i in others)
    is_long = rows[axis] >= gather.invars[1].aval.shape[0]
    if numbers.collapsed_slice_dims != (axis,) or numbers.offset_dims != others:
        return gather
    if not (is_whole and is_long):
        return gather
    fetch = jax.jit(_fetch_along(axis, partial(jax.lax.gather, **gather.params)))
    (made,) = jax.make_jaxpr(fetch)(*(v.aval for v in gather.invars)).eqns
    return made.replace(invars=gather.invars, outvars=gather.outvars)


def _fetch_along(axis: int, gathered: Callable) -> Callable:
    """Return a map from an array and a column of B indices to its rows along an axis."""

    @custom_vmap
    def fetch(array: jax.Array, index: jax.Array) -> jax.Array:
        count, first, last = len(index), index[0, 0], index[-1, 0]
        # A gather clips or fills rows after the array's last one; a slice would shift the block.
        follow = (last - first == count - 1) & (last < array.shape[axis])
        sliced = lambda: jax.lax.dynamic_slice_in_dim(array, first, count, axis)  # noqa: E731
        return jax.lax.cond(follow, sliced, lambda: gathered(array, index))

    @fetch.def_vmap
    def mapped(_size: int, batched: list[bool], array: jax.Array, index: jax.Array) -> tuple:
        axes = [0 if is_batched else None for is_batched in batched]
        return jax.vmap(gathered, axes)(array, index), True

    return fetch
