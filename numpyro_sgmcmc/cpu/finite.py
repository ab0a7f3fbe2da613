"""Whether all numbers of a long vector are finite, in one pass.

XLA writes one truth value for each number and combines them in several passes. A sum is one pass. A
sum with a term that is infinite or NaN is not finite. If the sum is finite, all numbers are. If it
is not, it may have overflowed, and each number is looked at.
"""

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from numpyro_sgmcmc.cpu.gate import is_on

MANY_NUMBERS = 2**16
"""From this size on, passes over a vector take longer than a conditional."""


def all_finite(vector: jax.Array) -> jax.Array:
    """Return whether all numbers are finite, as `jnp.all(jnp.isfinite(vector))` does."""
    if vector.size < MANY_NUMBERS or not is_on():
        return _each(vector)
    return _by_sum(vector)


def _each(vector: jax.Array) -> jax.Array:
    return jnp.all(jnp.isfinite(vector))


@custom_vmap
def _by_sum(vector: jax.Array) -> jax.Array:
    is_sound = jnp.isfinite(jnp.sum(vector))
    return is_sound | jax.lax.cond(is_sound, lambda _: True, _each, vector)


@_by_sum.def_vmap
def _of_several(_size: int, _batched: list[bool], vectors: jax.Array) -> tuple[jax.Array, bool]:
    # For several vectors the conditional would compute both branches.
    return jax.vmap(_each)(vectors), True
