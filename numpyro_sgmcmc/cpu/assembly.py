"""Concatenation of long vectors that XLA on a CPU does not fuse with later operations.

The position or gradient of a large model is concatenated from its sites. XLA would fuse this with
the arithmetic that follows, including random numbers, and compute it number by number. In a branch
of a conditional it is a few copies of memory. The sites are written one after another, because
XLA's concatenation finds the site of each number separately. The largest one is first: XLA writes
it in one pass with the zeros around it, on several processors, and copies the others on one.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu.gate import is_on

MANY_NUMBERS = 2**16
"""From this size on, concatenating a vector costs more than the arithmetic on it."""

Ravel = Callable[[Any], jax.Array]
Unravel = Callable[[jax.Array], Any]


def in_a_branch(ravel: Ravel, unravel: Unravel, size: int, dtype: Any) -> tuple[Ravel, Unravel]:
    """Return equivalent maps that concatenate vectors and gradients in a branch of a conditional.

    If the first number is not finite, the branch is not taken and all numbers become NaN. The
    kernels treat this like a single number that is not finite.

    Args:
        ravel: map from a pytree to a vector.
        unravel: its inverse.
        size: size of the vector.
        dtype: type of the vector.
    """
    if size < MANY_NUMBERS:
        return ravel, unravel

    def together(values: Any) -> jax.Array:
        leaves = jax.tree.leaves(values)
        places = np.cumsum([0, *(leaf.size for leaf in leaves)])[:-1].tolist()
        whole = jnp.zeros(size, dtype)
        for leaf, at in sorted(zip(leaves, places, strict=True), key=lambda pair: -pair[0].size):
            whole = jax.lax.dynamic_update_slice(whole, jnp.ravel(leaf).astype(dtype), (at,))
        return whole

    def apart(values: Any) -> jax.Array:
        first = next(jnp.ravel(leaf)[0] for leaf in jax.tree.leaves(values) if leaf.size)
        broken = lambda _: jnp.full(size, jnp.nan, dtype)  # noqa: E731
        return jax.lax.cond(jnp.isfinite(first), together, broken, values)

    separate = jax.custom_vjp(unravel)
    separate.defvjp(lambda position: (unravel(position), None), lambda _, back: (apart(back),))
    return (
        lambda values: apart(values) if is_on() else ravel(values),
        lambda position: separate(position) if is_on() else unravel(position),
    )
