"""Between unconstrained values by site name and the flat position that kernels move."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

MANY_NUMBERS = 2**16
"""From here on how an array is put together matters more than the arithmetic on it."""


class Flat(NamedTuple):
    """Maps of a model's unconstrained values.

    Attributes:
        ravel: from values by site name to a position (d,).
        unravel: back.
    """

    ravel: Callable[[Any], jax.Array]
    unravel: Callable[[jax.Array], Any]


def flat_maps(prototype: dict[str, Any]) -> Flat:
    """Return the maps of values of these shapes and types; all sites are one after another.

    In high dimension a position, and a gradient, is put together in a branch of its own: XLA on a
    CPU would fuse this with what follows, random numbers included, and compute number by number.
    The branch is left where the first number is not finite: then so is no other one. Sites are
    written into an array one by one, as XLA's concatenation asks of each number whose it is.
    """
    flat, unravel = ravel_pytree(prototype)
    size, dtype = flat.size, flat.dtype  # its numbers may be a trace's
    ravel = lambda values: ravel_pytree(values)[0]  # noqa: E731
    if size < MANY_NUMBERS:
        return Flat(ravel, unravel)

    def together(values: Any) -> jax.Array:
        whole, at = jnp.zeros(size, dtype), 0
        for leaf in jax.tree.leaves(values):
            whole = jax.lax.dynamic_update_slice(whole, jnp.ravel(leaf).astype(dtype), (at,))
            at += leaf.size
        return whole

    def apart(values: Any) -> jax.Array:
        first = next(jnp.ravel(leaf)[0] for leaf in jax.tree.leaves(values) if leaf.size)
        broken = lambda _: jnp.full(size, jnp.nan, dtype)  # noqa: E731
        return jax.lax.cond(jnp.isfinite(first), together, broken, values)

    separate = jax.custom_vjp(unravel)
    separate.defvjp(lambda position: (unravel(position), None), lambda _, back: (apart(back),))
    return Flat(apart, separate)
