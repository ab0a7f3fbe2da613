"""Discrete latent sites with finitely many states, and the handler that gives them all states."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from numpyro.primitives import Messenger

from numpyro_sgmcmc.types import Plate


class Enumeration(NamedTuple):
    """The discrete latent sites of a model.

    Attributes:
        support: the states of each site, (K,).
        dims: the batch dimension of each site's states, to the left of all plates.
        plates: names of the plates of each site, from left to right.
        marginals: observed sites that depend on the same discrete sites, and the plates whose rows
            have a density of their own once the discrete sites are summed out.
        states: the largest number of joint states that are looked at together for one row.
    """

    support: dict[str, np.ndarray]
    dims: dict[str, int]
    plates: dict[str, tuple[str, ...]]
    marginals: dict[tuple[str, ...], tuple[str, ...]]
    states: int

    def is_like(self, other: "Enumeration") -> bool:
        """Return whether both have the same sites, states and plates."""
        mine, theirs = (
            ({n: s.tolist() for n, s in e.support.items()}, *e[1:]) for e in (self, other)
        )
        return mine == theirs


NOTHING = Enumeration({}, {}, {}, {}, 1)
"""The enumeration of a model without discrete latent sites."""


class UnknownStates(ValueError):
    """The states depend on values that are not known while only shapes are traced."""


class enumerated(Messenger):
    """Give each discrete latent site all its states, along a batch dimension of its own.

    As in NumPyro's enumeration, the value of a site has shape (K, 1, ..., 1). The states are those
    of the distribution's support.

    Args:
        fn: the model.
        enumeration: its discrete latent sites.

    Raises:
        ValueError: when the model is run, if a site has a value already.
    """

    def __init__(self, fn: Callable | None, enumeration: Enumeration) -> None:
        self.enumeration = enumeration
        super().__init__(fn)

    def process_message(self, msg: dict[str, Any]) -> None:
        """Set the value of a discrete latent site."""
        name = msg.get("name")
        if msg["type"] != "sample" or name not in self.enumeration.dims or msg["is_observed"]:
            return
        if msg["value"] is not None:
            raise ValueError(
                f"Expected the discrete site {name!r} to be drawn by the model itself; got a value"
                " from `scan`, `cond` or `substitute`. Write a `scan` as a Python loop, whose sites"
                " have different names, and use `handlers.condition` for a known value."
            )
        # Without this mark NumPyro's functions announce that they will want it.
        msg["infer"] = {**msg["infer"], "enumerate": "parallel"}
        support = self.enumeration.support[name]
        trailing = -self.enumeration.dims[name] - 1
        msg["value"] = jnp.asarray(support).reshape(support.shape + (1,) * trailing)


def enumerable(trace: dict[str, Any], kept: tuple[str, ...] = ()) -> Enumeration:
    """Return the discrete latent sites of a trace, without those that are kept for all rows.

    Raises:
        ValueError: if one of them does not have finitely many states that are known, or asks for
            another kind of enumeration. The message names the site and the remedy.
    """
    sites = {
        name: site
        for name, site in trace.items()
        if site["type"] == "sample"
        and not (site["is_observed"] or name in kept)
        and site["fn"].support.is_discrete
    }
    if not sites:
        return NOTHING
    first = -1 - max(_batch_dims(s) for s in trace.values() if s["type"] == "sample")
    return Enumeration(
        support={name: _support(name, site) for name, site in sites.items()},
        dims={name: first - k for k, name in enumerate(sites)},
        plates={name: plates_of(site) for name, site in sites.items()},
        marginals={},
        states=1,
    )


def plates_of(site: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of a site's plates, from left to right."""
    return tuple(frame.name for frame in sorted(site["cond_indep_stack"], key=lambda f: f.dim))


def subsampled(names: tuple[str, ...], plates: dict[str, Plate]) -> frozenset[str]:
    """Return the subsampled plates among some plates."""
    return frozenset(name for name in names if name in plates)


def _batch_dims(site: dict[str, Any]) -> int:
    frames = [-frame.dim for frame in site["cond_indep_stack"]]
    of_value = jnp.ndim(site["value"]) - site["fn"].event_dim
    return max(of_value, len(site["fn"].batch_shape), *frames, 0)


def _support(name: str, site: dict[str, Any]) -> np.ndarray:
    fn, kind = site["fn"], _kind(site["fn"])
    asked = site["infer"].get("enumerate", "parallel")
    if asked != "parallel":
        raise ValueError(
            f"Expected infer={{'enumerate': 'parallel'}} at the discrete site {name!r}; got"
            f" {asked!r}. Discrete latent sites are always summed out in parallel: leave it out."
        )
    if fn.event_shape:
        raise ValueError(
            f"Expected discrete latent sites with one number for each row; got the discrete site"
            f" {name!r} ({kind}) with event shape {tuple(fn.event_shape)}. Draw its entries as"
            " sites of their own, or in a plate instead of `to_event`, or sum it out by hand with"
            " `numpyro.factor`."
        )
    if not fn.has_enumerate_support:
        raise ValueError(
            f"Expected discrete latent sites with finitely many states; got the discrete site"
            f" {name!r} ({kind}), whose support is not finite. Truncate it with a"
            " `Categorical` over the states that matter, or sum it out by hand, for example with"
            " a `NegativeBinomial` instead of a `Poisson` of a `Gamma`, or `numpyro.factor`; or"
            " keep it for all rows of the subsampled plate and give a `latent_move`."
        )
    try:
        # The states are constants of the model, also while JAX is tracing.
        with jax.ensure_compile_time_eval():
            return np.asarray(fn.enumerate_support(expand=False)).reshape(-1)
    except (NotImplementedError, jax.errors.ConcretizationTypeError) as error:
        is_traced = any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(fn))
        raise (UnknownStates if is_traced else ValueError)(
            f"Expected the same known number of states for all entries of the discrete site"
            f" {name!r} ({kind}); got a support that cannot be listed. Use constants for its"
            " bounds, the same for all rows, or give a `latent_move`."
        ) from error


def _kind(fn: Any) -> str:
    while hasattr(fn, "base_dist"):
        fn = fn.base_dist
    return type(fn).__name__
