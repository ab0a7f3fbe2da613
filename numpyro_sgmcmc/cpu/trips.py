"""Entries that XLA must not compute again in each of their uses."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu.gate import is_on


def in_two_trips(
    count: int, make: Callable[[jax.Array], jax.Array], dtype: Any = jnp.int32
) -> jax.Array:
    """Return `make` of the places 0, ..., count - 1, computed in a loop of two iterations.

    XLA fuses entries with all that reads them, and computes them again there: the rows of a
    minibatch in each gather, for each number that it takes. It does not fuse a loop with its uses.

    Args:
        count: number of places.
        make: returns one entry for each place, whatever the other places are. It may be given one
            place too many.
        dtype: of the places.
    """
    if not is_on() or count < 2:
        return make(jax.lax.iota(dtype, count))
    half = -(-count // 2)
    places = lambda number: jax.lax.iota(dtype, half) + number * jnp.asarray(half, dtype)  # noqa: E731
    made = jax.lax.map(lambda number: make(places(number)), jnp.arange(2, dtype=dtype))
    return made.ravel()[:count]


def kept(x: jax.Array) -> jax.Array:
    """Return the vector x, (n,), in a form that XLA computes once.

    Where a small product of a matrix and a vector is spread over a large array, XLA fuses both and
    computes parts of the product again for each entry of the array.
    """
    return in_two_trips(x.size, lambda places: x[places])
