"""Maps between unconstrained values by site name and the flat position that kernels use."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jax.flatten_util import ravel_pytree

from numpyro_sgmcmc.cpu.assembly import in_a_branch


class Flat(NamedTuple):
    """Maps of a model's unconstrained values.

    Attributes:
        ravel: map from values by site name to a position (d,).
        unravel: its inverse.
    """

    ravel: Callable[[Any], jax.Array]
    unravel: Callable[[jax.Array], Any]


def flat_maps(prototype: dict[str, Any]) -> Flat:
    """Return the maps for values of these shapes and types; sites are concatenated."""
    flat, unravel = ravel_pytree(prototype)
    ravel = lambda values: ravel_pytree(values)[0]  # noqa: E731
    # Only the size and type of the prototype are used, because its values may be tracers.
    return Flat(*in_a_branch(ravel, unravel, flat.size, flat.dtype))
