"""Chains of a model with latents of rows, by the package's own transitions."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.latents import LatentState
from numpyro_sgmcmc.model.local import JointPotential
from numpyro_sgmcmc.transition import Transition, Walker
from numpyro_sgmcmc.types import Minibatch


def chain(
    potential: JointPotential,
    transition: Transition,
    batch: int,
    steps: int,
    kept: int,
    read: Callable[[jax.Array], Any],
) -> Callable[..., tuple[Any, jax.Array, jax.Array]]:
    """Return the function from step size, key, position and latents to a chain.

    A chain is what `read` makes of `kept` positions of its second half, equally far from each
    other, the number of diverging transitions, and the mean acceptance probability of the latents'
    moves (the share of elements that changed, for discrete ones).
    """
    local = potential.structure.local

    def run(
        h: jax.Array, key: jax.Array, start: jax.Array, state: LatentState
    ) -> tuple[Any, jax.Array, jax.Array]:
        key_aux, key_steps = jax.random.split(key)
        walker = Walker(start, transition.dynamics.init(key_aux, start, 1.0), state)

        def body(carry: Any, key: jax.Array) -> tuple[Any, None]:
            walker, bad = carry
            key_noise, key_rows, key_move = jax.random.split(key, 3)
            rows = jax.random.randint(key_rows, (batch,), 0, local.rows)
            noise = jnp.sqrt(h) * jax.random.normal(key_noise, start.shape)
            minibatch = Minibatch({local.plate: rows}, key_move)
            moved = transition.step(potential, walker, minibatch, noise, h)
            return (moved.walker, bad + moved.diverging), None

        def block(carry: Any, key: jax.Array) -> tuple[Any, Any]:
            carry, _ = jax.lax.scan(body, carry, jax.random.split(key, steps // (2 * kept)))
            return carry, read(carry[0].position)

        keys = jax.random.split(key_steps, 2 * kept)
        (walker, bad), found = jax.lax.scan(block, (walker, jnp.zeros((), jnp.int32)), keys)
        half = jax.tree.map(lambda x: x[kept:], found)
        return half, bad, walker.gradient.acceptance

    return run
