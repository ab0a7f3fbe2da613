"""Curvature in the shared parameters given the latents of rows, without a matrix."""

from typing import Any

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.latents import LatentState
from numpyro_sgmcmc.preparation.kinks import Typical
from numpyro_sgmcmc.preparation.latents.noise import Walkers
from numpyro_sgmcmc.preparation.latents.potential import potential_of
from numpyro_sgmcmc.preparation.measure import Curvature, power_iteration
from numpyro_sgmcmc.preparation.target import View
from numpyro_sgmcmc.preparation.thresholds import ROWS_AT_ONCE


def curvature_at_latents(view: View, linear: Any, walkers: Walkers, keys: jax.Array) -> Curvature:
    """Return the largest eigenvalue of S' H S in modulus, and the mean one, of each walker.

    H is the Hessian of U(., a) at the walker's latents of all rows. Its products with vectors are
    sums over blocks of rows.
    """
    potential = potential_of(view)

    def of_walker(inputs: tuple[jax.Array, LatentState, jax.Array]) -> Curvature:
        position, state, key = inputs
        size = len(state.values)
        block = min(ROWS_AT_ONCE, size)
        count, rest = divmod(size, block)

        def over(rows: jax.Array, vector: jax.Array) -> jax.Array:
            given = state.values[rows], rows, state.discrete[rows]
            gradient = jax.grad(lambda z: potential.rows(z, *given))
            return jax.jvp(gradient, (position,), (vector,))[1]

        def product(vector: jax.Array) -> jax.Array:
            moved = linear.apply(vector)

            def add(number: jax.Array, total: jax.Array) -> jax.Array:
                return total + over(number * block + jnp.arange(block), moved)

            total = jax.jvp(jax.grad(potential.shared), (position,), (moved,))[1]
            total = jax.lax.fori_loop(0, count, add, total)
            if rest:
                total = total + over(count * block + jnp.arange(rest), moved)
            return linear.transpose(total)

        return power_iteration(product, position, key)

    return jax.lax.map(of_walker, (*walkers, keys))


def typical_at_latents(view: View, linear: Any, walkers: Walkers, key: jax.Array) -> Typical:
    """Return the curvature over walkers.

    Traces are estimated with the same signs for all of them, so that their errors hardly differ.
    """
    count, dimension = walkers.positions.shape
    found = curvature_at_latents(view, linear, walkers, jnp.repeat(key[None], count, axis=0))
    largest, mean = jnp.max(found.largest), jnp.mean(found.mean)
    return Typical(largest, mean, dimension * jnp.std(found.mean))
