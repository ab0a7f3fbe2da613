"""Between unconstrained values by site name and the flat position that kernels move."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
from jax.flatten_util import ravel_pytree

from numpyro_sgmcmc.cpu.assembly import in_a_branch


class Flat(NamedTuple):
    """Maps of a model's unconstrained values.

    Attributes:
        ravel: from values by site name to a position (d,).
        unravel: back.
    """

    ravel: Callable[[Any], jax.Array]
    unravel: Callable[[jax.Array], Any]


def flat_maps(prototype: dict[str, Any]) -> Flat:
    """Return the maps of values of these shapes and types; the sites follow one another."""
    flat, unravel = ravel_pytree(prototype)
    ravel = lambda values: ravel_pytree(values)[0]  # noqa: E731
    # Of the prototype only size and type: its numbers may belong to a trace.
    return Flat(*in_a_branch(ravel, unravel, flat.size, flat.dtype))
