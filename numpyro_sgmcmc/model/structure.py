"""The structure of a NumPyro model: its latent sites, its plates and their dependence."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.core import Tracer
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.distributions.transforms import IdentityTransform, IndependentTransform, Transform
from numpyro.infer.util import constrain_fn
from numpyro.primitives import Messenger

from numpyro_sgmcmc.checks import warn_user
from numpyro_sgmcmc.model.arguments import as_jax_arrays
from numpyro_sgmcmc.model.deterministic import costly_sites, dependent_sites
from numpyro_sgmcmc.model.dims import named_dims
from numpyro_sgmcmc.model.enumeration import (
    Enumeration,
    TooManyStates,
    UnknownStates,
    checked,
    enumerable,
    enumerated,
)
from numpyro_sgmcmc.model.flat import Flat, flat_maps
from numpyro_sgmcmc.model.handlers import keys_used, minibatched, with_minibatch
from numpyro_sgmcmc.model.local import Local, gibbs_sites, kept_discrete, local_of
from numpyro_sgmcmc.model.validate import numpyro_warnings
from numpyro_sgmcmc.types import Plate

VALUED = ("param", "mutable")
"""Types of sites that keep their first values."""


NEEDS_VALUES = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
    UnknownStates,
)
"""Errors of a model whose Python code depends on values. Its structure is read by running it."""


@final
@dataclass(frozen=True, eq=False)
class Structure:
    """The static properties of a model, read from one trace.

    Attributes:
        model: the user's model.
        fixed: values of `param` and `mutable` sites, which are not sampled.
        prototype: an unconstrained value of each latent site, by name; latents of rows are not
            among them.
        flat: maps between unconstrained values by site name and a flat position (d,).
        plates: the subsampled plates by name.
        groups: names of the plates, grouped so that plates that share a site are in one group.
        is_random: whether the density itself draws random numbers.
        enumeration: the discrete latent sites that are summed out.
        local: the latent sites in the subsampled plate, or None.
        minibatch_sites: deterministic sites that depend on the minibatch, on random numbers, on
            discrete latent sites or on latents of rows.
        costly_sites: deterministic sites whose value at a draw takes a pass over the data.
        observed: names of the observed sites, without `factor` sites.
        bounded: latent sites whose constrained values can overflow although the position is finite.
        dims: names of the dimensions of each site's value, from plates and `event_dims`.
        transforms: maps from unconstrained to constrained values by latent site, if they are the
            same at every position and the draws have no deterministic sites; else None.
    """

    model: Callable
    fixed: dict[str, Any]
    prototype: dict[str, Any]
    flat: Flat
    plates: dict[str, Plate]
    groups: tuple[tuple[str, ...], ...]
    is_random: bool
    enumeration: Enumeration
    local: Local | None
    minibatch_sites: frozenset[str]
    costly_sites: frozenset[str]
    observed: tuple[str, ...]
    bounded: tuple[str, ...]
    dims: dict[str, list[str | None]]
    transforms: dict[str, Transform] | None

    @property
    def dimension(self) -> int:
        """The number d of unconstrained parameters."""
        return sum(value.size for value in self.prototype.values())

    @property
    def needs_key(self) -> bool:
        """Whether minibatches come with a key, for random densities or for moves of latents."""
        return self.is_random or self.local is not None

    def ravel(self, values: dict[str, jax.Array]) -> jax.Array:
        """Return unconstrained values by site name as a flat position (d,)."""
        return self.flat.ravel(values)

    def unravel(self, position: jax.Array) -> dict[str, jax.Array]:
        """Return a flat position as unconstrained values by site name."""
        return self.flat.unravel(position)

    def is_like(self, other: "Structure") -> bool:
        """Return whether programs compiled for this structure are valid for the other one.

        They are not if values of `param` or `mutable` sites are part of them.
        """
        if self.fixed or other.fixed or self.model is not other.model:
            return False
        if not self.enumeration.is_like(other.enumeration):
            return False
        mine, theirs = (
            [
                {name: (z.shape, z.dtype) for name, z in s.prototype.items()},
                *(s.plates, s.groups, s.is_random, s.local, s.minibatch_sites, s.costly_sites),
                *(s.observed, s.bounded, s.dims, jax.tree.structure(s.transforms)),
                [np.asarray(leaf).tolist() for leaf in jax.tree.leaves(s.transforms)],
            ]
            for s in (self, other)
        )
        return mine == theirs

    def with_minibatch(self, indices: dict[str, Any], key: jax.Array | None) -> Callable:
        """Return the model with a minibatch, a key if it asks for one, and all discrete states."""
        model = with_minibatch(self.model, self.fixed, indices, key)
        return enumerated(model, self.enumeration) if self.enumeration.dims else model

    def without_discrete(self, model: Callable) -> Callable:
        """Return the model with a minibatch whose discrete latents of rows have arbitrary values.

        For NumPyro's functions of continuous sites, which would refuse or enumerate the others.
        """
        local = self.local
        if local is None or not local.discrete:
            return model
        some = local.some_discrete(self.plates[local.plate].subsample_size)
        values: Any = local.unravel_discrete(some)
        return handlers.condition(model, data=values)

    def placeholder(self) -> dict[str, jax.Array]:
        """Return an arbitrary minibatch, for computations that do not depend on its rows."""
        return {name: jnp.arange(plate.subsample_size) for name, plate in self.plates.items()}

    def constrain(
        self, position: dict[str, jax.Array], args: tuple, kwargs: dict
    ) -> dict[str, jax.Array]:
        """Return one draw's constrained latent sites and its deterministic sites.

        Deterministic sites that depend on the minibatch or on discrete latent sites are left out,
        because their values are not defined by the draw. Those that take a pass over the data are
        left out because of its cost.
        """
        if self.transforms is not None:
            return {name: jnp.asarray(self.transforms[name](z)) for name, z in position.items()}
        args, kwargs = as_jax_arrays(args, kwargs)
        key = jax.random.key(0) if self.is_random else None
        model, dropped = self.with_minibatch(self.placeholder(), key), set()
        if self.local is not None:
            batch = self.plates[self.local.plate].subsample_size
            arbitrary = self.local.unravel(jnp.zeros((batch, self.local.dimension)))
            position, dropped = position | arbitrary, set(self.local.names)
            model = self.without_discrete(model)
        sites = constrain_fn(model, args, kwargs, position, return_deterministic=True)
        dropped |= self.minibatch_sites | self.costly_sites
        return {name: value for name, value in sites.items() if name not in dropped}

    def can_be_constrained(
        self, position: dict[str, jax.Array], args: tuple, kwargs: dict
    ) -> jax.Array:
        """Return whether the constrained values are finite (exp(100) is not in float32)."""
        if not self.bounded:
            return jnp.ones((), bool)
        sites = self.constrain(position, args, kwargs)
        return jnp.all(jnp.stack([jnp.all(jnp.isfinite(sites[name])) for name in self.bounded]))


def read_structure(
    model: Callable, args: tuple, kwargs: dict, latent_move: Callable | str | None = None
) -> Structure:
    """Trace the model and return its structure. If possible, only shapes are traced.

    Args:
        model: the user's model.
        args: its positional arguments.
        kwargs: its keyword arguments.
        latent_move: the move of discrete latents of rows, "gibbs" or a function. None sums them out
            where that is possible.

    Raises:
        TypeError: if the arguments do not fit the model's signature.
        ValueError: if a latent site is a delta distribution or on a sphere; if a discrete one
            cannot be summed out; if latents of rows are not supported in this model; or if a
            plate's subsample is larger than the plate. The message names the site and the remedy.
    """
    args, kwargs = as_jax_arrays(args, kwargs)
    found: list[Structure] = []
    has_values: list[bool] = []
    messages: list[list[str]] = []

    def read() -> None:
        trace = _execute(model, args, kwargs)
        found.append(_structure(model, trace, args, kwargs, latent_move))
        messages.append(numpyro_warnings(trace))
        has_values.append(any(site["type"] in VALUED for site in trace.values()))

    try:
        jax.eval_shape(read)
    except NEEDS_VALUES:
        with jax.ensure_compile_time_eval():
            read()
    for message in messages[-1]:
        warn_user(message)
    if not has_values[-1]:
        return found[-1]
    with jax.ensure_compile_time_eval():  # Values must be concrete even while JAX is tracing.
        trace = _execute(model, args, kwargs)
        fixed = {n: s["value"] for n, s in trace.items() if s["type"] in VALUED}
    return replace(found[-1], fixed=fixed)


def _structure(
    model: Callable,
    trace: dict[str, Any],
    args: tuple,
    kwargs: dict,
    move: Callable | str | None,
) -> Structure:
    plates = {
        name: Plate(site["args"][0], site["value"].shape[0])
        for name, site in trace.items()
        if site["type"] == "plate" and site["value"].shape[0] != site["args"][0]
    }
    kept = kept_discrete(trace, plates, move)
    try:
        return _with_kept(model, trace, plates, kept, args, kwargs, move)
    except TooManyStates:
        found = () if kept else gibbs_sites(trace, plates)
        if not found:
            raise
        return _with_kept(model, trace, plates, found, args, kwargs, move)


def _with_kept(
    model: Callable,
    trace: dict[str, Any],
    plates: dict[str, Plate],
    kept: tuple[str, ...],
    args: tuple,
    kwargs: dict,
    move: Callable | str | None,
) -> Structure:
    """Return the structure of a model, of whose discrete sites some are not summed out."""
    enumeration = enumerable(trace, kept)
    no_continuous = {*kept, *enumeration.dims}
    latent = {
        name: site
        for name, site in trace.items()
        if site["type"] == "sample" and not site["is_observed"] and name not in no_continuous
    }
    given = {n: s["value"] for n, s in trace.items() if s["type"] in VALUED or n in latent}
    discrete = {name: trace[name]["value"] for name in enumeration.dims}
    transforms = {name: biject_to(site["fn"].support) for name, site in latent.items()}
    free = {name: jnp.asarray(transforms[name].inv(site["value"])) for name, site in latent.items()}
    local = local_of(latent, free, plates, {n: trace[n] for n in kept}, tuple(discrete), move)
    given |= {name: trace[name]["value"] for name in kept}
    inside = {name: given[name] for name in (local.names if local else ())}
    transforms = {name: t for name, t in transforms.items() if name not in inside}
    prototype = {name: np.zeros(free[name].shape, free[name].dtype) for name in transforms}
    indices = {name: trace[name]["value"] for name in plates}
    is_random = _asks_for_keys(model, given | discrete, indices, args, kwargs)
    if inside and is_random:
        raise ValueError(
            "Expected a deterministic density in a model with latents of rows; got one that draws"
            " random numbers (`numpyro.prng_key`). Make a latent site of what is random."
        )
    seeded = handlers.seed(with_minibatch(model, given, indices, None), jax.random.key(0))
    observed = tuple(
        name
        for name, site in trace.items()
        if site["type"] == "sample" and site["is_observed"] and not _is_factor(site)
    )
    enumeration = checked(seeded, enumeration, plates, tuple(latent), observed, args, kwargs)
    deterministic = [n for n, s in trace.items() if s["type"] == "deterministic"]
    inputs = (indices, discrete | inside)
    dependent = dependent_sites(model, given, inputs, is_random, deterministic, args, kwargs)
    own = [name for name in deterministic if name not in dependent]
    values = given | discrete
    costly = costly_sites(model, values, indices, plates, prototype, own, args, kwargs)
    follows = len(own) > len(costly)
    follows |= any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(transforms))
    return Structure(
        model=model,
        fixed={},
        prototype=prototype,
        flat=flat_maps(prototype),
        plates=plates,
        groups=_groups(trace, plates),
        is_random=is_random,
        enumeration=enumeration,
        local=local,
        minibatch_sites=frozenset(dependent),
        costly_sites=frozenset(costly),
        observed=observed,
        bounded=tuple(name for name in prototype if not _is_identity(transforms[name])),
        dims=named_dims(trace),
        transforms=None if follows else transforms,
    )


def _execute(model: Callable, args: tuple, kwargs: dict) -> dict[str, Any]:
    seeded = _checked_plates(handlers.seed(model, jax.random.key(0)))
    substituted = handlers.substitute(seeded, substitute_fn=numpyro.infer.init_to_uniform())
    try:
        return handlers.trace(substituted).get_trace(*args, **kwargs)
    except TypeError as error:
        if _is_called_rightly(model, args, kwargs):
            raise  # The error comes from inside the model.
        raise TypeError(
            f"Expected the arguments of the model in `run(key, *args, **kwargs)`; got"
            f" {len(args)} positional and the keyword arguments {sorted(kwargs)}: {error}."
        ) from error


def _is_called_rightly(model: Callable, args: tuple, kwargs: dict) -> bool:
    try:
        inspect.signature(model).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


class _checked_plates(Messenger):
    """Raise an error for a subsample that is larger than its plate, before NumPyro draws it."""

    def process_message(self, msg: dict[str, Any]) -> None:
        if msg["type"] != "plate":
            return
        size, subsample_size = msg["args"]
        if subsample_size is None:
            return
        if isinstance(subsample_size, bool) or not isinstance(subsample_size, Integral):
            raise TypeError(
                f"Expected `subsample_size` of plate {msg['name']!r} to be a Python integer, or"
                f" None for the whole plate; got {subsample_size!r}."
            )
        if not 0 < int(subsample_size) <= size:
            raise ValueError(
                f"Expected `subsample_size` of plate {msg['name']!r} to be between 1 and its size"
                f" {size}; got {subsample_size}."
            )


def _is_identity(transform: Transform) -> bool:
    while isinstance(transform, IndependentTransform):
        transform = transform.base_transform
    return isinstance(transform, IdentityTransform)


def _is_factor(site: dict[str, Any]) -> bool:
    return isinstance(site["fn"], numpyro.distributions.Unit)


def _groups(trace: dict[str, Any], plates: dict[str, Plate]) -> tuple[tuple[str, ...], ...]:
    group_of = {name: {name} for name in plates}
    for site in trace.values():
        if site["type"] != "sample":
            continue
        shared = [f.name for f in site["cond_indep_stack"] if f.name in plates]
        merged = set().union(*(group_of[name] for name in shared))
        group_of.update(dict.fromkeys(merged, merged))
    return tuple(sorted({tuple(sorted(group)) for group in group_of.values()}))


def _asks_for_keys(
    model: Callable, values: dict[str, Any], indices: dict[str, Any], args: tuple, kwargs: dict
) -> bool:
    watcher = keys_used(minibatched(handlers.substitute(model, data=values), indices))
    jax.eval_shape(lambda: (handlers.seed(watcher, jax.random.key(0))(*args, **kwargs), 0)[1])
    return watcher.any
