"""Non-centred effects: sites that the model scales and moves by other latent sites."""

from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, jaxpr_as_fun
from numpyro import handlers
from numpyro.distributions.transforms import biject_to

from numpyro_sgmcmc.model.combined import scales_of_combinations
from numpyro_sgmcmc.model.dependence import sources_by_variable
from numpyro_sgmcmc.model.gathered import INDICES, scales_of_rows
from numpyro_sgmcmc.model.location_scale import location_and_scale

LINEAR = frozenset({"add", "sub", "neg", "add_any", "convert_element_type", "copy"})
"""Primitives that keep m + s x affine in x, entry by entry, if all inputs that depend on x are."""


class Image(NamedTuple):
    """Where the model computes the effect z = m + s x of a site x.

    Attributes:
        site: name of x.
        parts: location and scale of the prior of x, and z, at unconstrained values by site and rows
            of a minibatch by plate.
        rows: rows of some minibatch by plate.
    """

    site: str
    parts: Callable[[dict[str, jax.Array], dict[str, Any]], list[Any]]
    rows: dict[str, Any]

    def location_and_scale(
        self, values: dict[str, Any], rows: dict[str, Any] | None = None
    ) -> tuple[jax.Array, ...]:
        """Return location and scale of the prior of x, and those of z given the other sites.

        Args:
            values: unconstrained values by site; that of x is not used, but has its shape.
            rows: rows of a minibatch by plate, on which m and s depend if x is a latent of rows.
        """
        shape, dtype = np.shape(values[self.site]), values[self.site].dtype
        at = self.rows if rows is None else rows
        found = self.parts(values, at)[:2]
        location, scale = (jnp.broadcast_to(part, shape).astype(dtype) for part in found)

        def effect(x: jax.Array) -> jax.Array:
            return self.parts(values | {self.site: x}, at)[2]

        return location, scale, *jax.jvp(effect, (location,), (scale,))


def images(
    model: Callable[[dict[str, Any]], Callable],
    prototype: dict[str, Any],
    indices: dict[str, Any],
    args: tuple,
    kwargs: dict,
    of_rows: Collection[str] = (),
) -> list[Image]:
    """Return the sites of several real effects that the model scales by other latent sites.

    Their own prior is one of constant location and scale. The model computes z = m + s x entry by
    entry, where m and s depend on other latent sites and not on the minibatch: `mean + spread * x`
    wherever it is written. Of several such arrays the last is taken. z may depend on sites before x
    that are effects themselves, and not on those after it, so that all of them are known in the
    order of the result. Where there is no such array, z is s x if rows of x or sums over x are
    multiplied by s, as in `spread * x[group]` or `spread * jnp.cumsum(x)`.

    This is read from the model's jaxpr, which is not run.

    Args:
        model: the model with a minibatch, given the minibatch's rows by plate.
        prototype: an unconstrained value of each latent site.
        indices: rows of some minibatch by plate.
        args: the model's positional arguments.
        kwargs: its keyword arguments.
        of_rows: latents of rows. If there are any, they are the only sites that are looked at: m
            and s may depend on the row then, and not on other latents of rows.
    """
    order: list[str] = []

    def run(inputs: dict[str, dict[str, Any]]) -> tuple[dict[str, Any], list[Any]]:
        order.clear()

        def value_of(site: dict[str, Any]) -> Any:
            if site["type"] != "sample" or site["name"] not in prototype:
                return None
            order.append(site["name"])
            return biject_to(site["fn"].support)(inputs["values"][site["name"]])

        bound = handlers.substitute(model(inputs["indices"]), substitute_fn=value_of)
        with handlers.block():
            trace = handlers.trace(bound).get_trace(*args, **kwargs)
        sites = [site for site in trace.values() if site["type"] == "sample"]
        priors = {s["name"]: location_and_scale(s["fn"]) for s in sites if s["name"] in prototype}
        several = {
            name: parts
            for name, parts in priors.items()
            if parts is not None and (name in of_rows if of_rows else np.size(prototype[name]) > 1)
        }
        # The parameters of all distributions are outputs, so that what leads to them is kept.
        leaves = [leaf for site in sites for leaf in jax.tree.leaves(site["fn"])]
        return several, [leaf for leaf in leaves if isinstance(leaf, jax.Array)]

    inputs = {"values": dict(prototype), "indices": dict(indices)}
    closed, shapes = jax.make_jaxpr(run, return_shape=True)(inputs)
    jaxpr = closed.jaxpr
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(inputs)]
    names = [path[1].key if path[0].key == "values" else INDICES for path in paths]
    sources = sources_by_variable(jaxpr, [frozenset({name}) for name in names])
    outputs = jax.tree.unflatten(jax.tree.structure(shapes), jaxpr.outvars)[0]
    unmoved = {
        name
        for name, parts in outputs.items()
        if not any(sources.get(v) for v in parts if not isinstance(v, Literal))
    }
    found = []
    several = [name for name in dict.fromkeys(order) if name in outputs]
    for place, name in enumerate(several):
        if name not in unmoved:
            continue
        later = (set(several) - unmoved) | set(several[place + 1 :]) | {INDICES}
        if of_rows:
            later = set(of_rows) - {name}
        variable = jaxpr.invars[names.index(name)]
        others = [v for v in _affine_in(jaxpr, variable, sources) if not sources[v] & later]
        of_parts = [scales_of_combinations, scales_of_rows]
        scales = [
            scale
            for scales_of in of_parts
            for scale in scales_of(jaxpr, variable, sources)
            if not sources[scale] & later
        ]
        if others:
            wanted = [*outputs[name], others[-1]]
            found.append(Image(name, _evaluated(closed, wanted, names), indices))
        elif scales and not of_rows:
            parts = _evaluated(closed, [*outputs[name], scales[-1]], names)
            found.append(Image(name, partial(_times, name, parts), indices))
    return found


def _times(
    name: str, parts: Callable, values: dict[str, jax.Array], rows: dict[str, Any]
) -> list[Any]:
    """Return location and scale of the prior of x, and s x, from `parts` with s in its place."""
    *prior, scale = parts(values, rows)
    return [*prior, scale * values[name]]


def _affine_in(jaxpr: Jaxpr, x: Any, sources: dict[Any, frozenset]) -> Iterator[Any]:
    """Yield the arrays m + s x, entry by entry, with m or s that depend on anything but x."""
    affine = {x}
    for equation in jaxpr.eqns:
        inputs = equation.invars
        places = [at for at, v in enumerate(inputs) if not isinstance(v, Literal) and v in affine]
        touched = [
            at
            for at, v in enumerate(inputs)
            if not isinstance(v, Literal) and sources.get(v, frozenset()) & sources[x]
        ]
        if not places or places != touched or len(equation.outvars) != 1:
            continue
        (output,) = equation.outvars
        array: Any = output.aval
        name = equation.primitive.name
        is_affine = name in LINEAR or (name == "mul" and len(places) == 1)
        is_affine |= name == "div" and places == [0]
        # A conversion to integers is not affine.
        is_affine = is_affine and jnp.issubdtype(array.dtype, jnp.floating)
        if is_affine and array.shape == x.aval.shape:
            affine.add(output)
            if sources[output] != sources[x]:
                yield output


def _evaluated(closed: ClosedJaxpr, wanted: list[Any], names: list[Any]) -> Callable:
    """Return the function of values by site and rows by plate that computes some variables."""
    needed, kept = {v for v in wanted if not isinstance(v, Literal)}, []
    for equation in reversed(closed.jaxpr.eqns):
        if needed.intersection(equation.outvars):
            kept.append(equation)
            needed.update(v for v in equation.invars if not isinstance(v, Literal))
    sliced = closed.jaxpr.replace(eqns=kept[::-1], outvars=wanted)
    run = jaxpr_as_fun(ClosedJaxpr(sliced, closed.consts))

    def parts(values: dict[str, jax.Array], rows: dict[str, Any]) -> list[Any]:
        left = iter(jax.tree.leaves(rows))
        return run(*[next(left) if name is INDICES else values[name] for name in names])

    return parts
