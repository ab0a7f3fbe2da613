"""Whether all numbers of a long vector are finite, in one pass.

XLA writes one truth value for each number and combines them in several passes. A sum is one pass,
and if it is finite, so is each of its terms: an infinite term or NaN never leaves a sum. A sum that
is not finite may be an overflow, and then all numbers are looked at.
"""

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu.gate import is_on

MANY_NUMBERS = 2**16
"""From this size on, passes over a vector take longer than a conditional."""


def all_finite(vector: jax.Array) -> jax.Array:
    """Return whether all numbers are finite, as `jnp.all(jnp.isfinite(vector))` does."""
    if vector.size < MANY_NUMBERS or not is_on():
        return jnp.all(jnp.isfinite(vector))
    is_sound = jnp.isfinite(jnp.sum(vector))
    return is_sound | jax.lax.cond(
        is_sound, lambda _: True, lambda z: jnp.all(jnp.isfinite(z)), vector
    )
