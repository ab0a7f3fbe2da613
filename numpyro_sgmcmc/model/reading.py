"""The reading of a model's structure from a trace of the model."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.core import Tracer
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.distributions.transforms import IdentityTransform, IndependentTransform, Transform
from numpyro.primitives import Messenger

from numpyro_sgmcmc.checks import warn_user
from numpyro_sgmcmc.model.arguments import as_jax_arrays
from numpyro_sgmcmc.model.deterministic import costly_sites, dependent_sites
from numpyro_sgmcmc.model.dims import named_dims
from numpyro_sgmcmc.model.enumeration import TooManyStates, UnknownStates, checked, enumerable
from numpyro_sgmcmc.model.flat import flat_maps
from numpyro_sgmcmc.model.handlers import keys_used, minibatched, with_minibatch
from numpyro_sgmcmc.model.local import gibbs_sites, kept_discrete, local_of
from numpyro_sgmcmc.model.mutable import check_unchanged, first_states
from numpyro_sgmcmc.model.structure import Structure
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
            cannot be summed out; if the model changes its mutable state; if latents of rows are not
            supported in this model; or if a plate's subsample is larger than the plate. The message
            names the site and the remedy.
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
        states = first_states()
        with states:
            trace = _execute(model, args, kwargs)
        fixed = {n: s["value"] for n, s in trace.items() if s["type"] in VALUED}
        check_unchanged(states.found, fixed)
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
            f" {len(args)} positional and the keyword arguments {sorted(kwargs)}: {error}. Pass the"
            " model's own arguments after the key."
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
                f" None for the whole plate; got {subsample_size!r}. Use a constant of the model."
            )
        if not 0 < int(subsample_size) <= size:
            raise ValueError(
                f"Expected `subsample_size` of plate {msg['name']!r} to be between 1 and its size"
                f" {size}; got {subsample_size}. Use fewer rows, or None for the whole plate."
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
