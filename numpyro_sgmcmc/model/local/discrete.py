"""The discrete latent sites of a row, which are kept instead of summed out."""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import jax
import numpy as np
import numpyro.distributions as dist
from jax.core import Tracer

from numpyro_sgmcmc.model.enumeration import UnknownStates
from numpyro_sgmcmc.types import Plate

MOST_PROBABILITIES = 1_024
"""Most probabilities of a site that are kept for each row; beyond, mean and sd are kept instead."""

MOST_VALUES = 4_096
"""Most values of an element, of each of which a Gibbs step evaluates the density."""

WRAPPERS = dist.Independent, dist.ExpandedDistribution, dist.MaskedDistribution
"""Distributions whose elements have the support of the one inside."""


class DiscreteSite(NamedTuple):
    """A discrete latent site in a subsampled plate.

    Attributes:
        name: its name.
        axis: the axis of the plate in its values, from the left.
        shape: shape of a row's value.
        dtype: type of its values.
        support: the values of each element; None if they are not finitely many known ones.
    """

    name: str
    axis: int
    shape: tuple[int, ...]
    dtype: str
    support: tuple[int, ...] | None

    @property
    def size(self) -> int:
        """The number of elements of a row."""
        return prod(self.shape)

    @property
    def is_binary(self) -> bool:
        """Whether an element is 0 or 1, so that its mean is a probability."""
        return self.support == (0, 1)

    @property
    def probabilities(self) -> int:
        """How many probabilities are kept for a row; 0 if mean and sd are kept instead."""
        if self.support is None:
            return 0
        count = self.size * (1 if self.is_binary else len(self.support))
        return count if count <= MOST_PROBABILITIES else 0

    @property
    def evaluations(self) -> int:
        """How many densities a Gibbs sweep over the elements evaluates."""
        return 0 if self.support is None else self.size * (len(self.support) - 1)


def kept_discrete(
    trace: dict[str, Any], plates: dict[str, Plate], move: Callable | str | None
) -> tuple[str, ...]:
    """Return the discrete latent sites that are kept for all rows, instead of summed out.

    They are those in a subsampled plate, if the user asks for it, if one of them has several
    elements for each row, or if there are continuous latents beside them.

    Raises:
        ValueError: if a move is given and there are none.
    """
    latent = {
        name: site
        for name, site in trace.items()
        if site["type"] == "sample"
        and not site["is_observed"]
        and any(frame.name in plates for frame in site["cond_indep_stack"])
    }
    inside = {name: site for name, site in latent.items() if site["fn"].support.is_discrete}
    if move is not None and not inside:
        raise ValueError(
            f"Expected a model with discrete latent sites in a subsampled plate for"
            f" `latent_move`; got one without, and latent_move={move!r}. Leave `latent_move` out."
        )
    joint = any(site["fn"].event_shape and support_of(site["fn"]) for site in inside.values())
    return tuple(inside) if move is not None or joint or len(inside) < len(latent) else ()


def gibbs_sites(trace: dict[str, Any], plates: dict[str, Plate]) -> tuple[str, ...]:
    """Return the discrete latent sites in a subsampled plate if Gibbs steps can move them all."""
    inside = {
        name: site["fn"]
        for name, site in trace.items()
        if site["type"] == "sample" and not site["is_observed"] and site["fn"].support.is_discrete
        if any(frame.name in plates for frame in site["cond_indep_stack"])
    }
    return tuple(inside) if all(support_of(fn) for fn in inside.values()) else ()


def support_of(fn: Any) -> tuple[int, ...] | None:
    """Return the values of each element of a distribution's draws; None if unknown or too many.

    Raises:
        UnknownStates: if they depend on values that are traced.
    """
    while isinstance(fn, WRAPPERS):
        fn = fn.base_dist
    if fn.event_shape or not fn.has_enumerate_support:
        return None
    try:
        with jax.ensure_compile_time_eval():
            found = np.asarray(fn.enumerate_support(expand=False)).reshape(-1)
    except (NotImplementedError, jax.errors.ConcretizationTypeError) as error:
        if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(fn)):
            raise UnknownStates("The support depends on values that are traced.") from error
        return None
    return tuple(found.tolist()) if len(found) <= MOST_VALUES else None
