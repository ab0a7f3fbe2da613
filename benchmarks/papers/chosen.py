"""One of several dynamics, chosen by a number, in one compiled program."""

from dataclasses import dataclass
from typing import Any, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.pytree import as_pytree


@final
@as_pytree()
@dataclass(frozen=True)
class Chosen:
    """Dynamics of which one moves the position.

    All are evaluated, which costs nothing beside a gradient. A program for each would take longer
    to compile than to run.

    Args:
        several: dynamics; the first one makes the first momentum, which others may ignore.
        which: the place of the chosen one, an integer.
    """

    several: tuple[Any, ...]
    which: jax.Array

    def init(self, key: jax.Array, position: jax.Array, temperature: float) -> jax.Array:
        """Return the first momentum."""
        return self.several[0].init(key, position, temperature)

    def lookahead(self, aux: jax.Array, step_size: jax.Array, position: jax.Array) -> jax.Array:
        """Return the offset of the chosen dynamics."""
        found = [one.lookahead(aux, step_size, position) for one in self.several]
        return jnp.stack(found)[self.which]

    def step(
        self, aux: jax.Array, gradient: jax.Array, increment: jax.Array, step_size: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return displacement and momentum of the chosen dynamics."""
        found = [one.step(aux, gradient, increment, step_size) for one in self.several]
        moves, momenta = (jnp.stack(parts)[self.which] for parts in zip(*found, strict=True))
        return moves, momenta
