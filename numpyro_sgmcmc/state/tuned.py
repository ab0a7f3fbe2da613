"""The settings that a warm-up chooses for the chains."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.correction import AbstractCorrection
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner
from numpyro_sgmcmc.staleness import AbstractRemedy
from numpyro_sgmcmc.state.other_modes import OtherModes


class Pace(NamedTuple):
    """Numbers of transitions in an iteration, if the warm-up chose them.

    The first iterations are thrown away and may be shorter than those that give draws.

    Attributes:
        num_steps: transitions of a draw, (), int32.
        warmup_steps: transitions of each of the first iterations, (), int32.
        num_warmup: number of these first iterations, (), int32.
    """

    num_steps: jax.Array
    warmup_steps: jax.Array
    num_warmup: jax.Array

    def steps(self, iteration: jax.Array) -> jax.Array:
        """Return the number of transitions in the iteration with this number, from 0."""
        return jnp.where(iteration < self.num_warmup, self.warmup_steps, self.num_steps)

    def before(self, iteration: jax.Array) -> jax.Array:
        """Return the number of transitions before the iteration with this number."""
        first = jnp.minimum(iteration, self.num_warmup)
        return first * self.warmup_steps + (iteration - first) * self.num_steps


class Tuned(NamedTuple):
    """The settings of a chain that the user did not give.

    Attributes:
        step_size: h; None if the user gave a step size or a schedule.
        friction: D; None if the user gave it or the dynamics have none.
        preconditioner: the preconditioner.
        gradient: the gradient estimator, without its anchor, which is part of the walker's state.
        correction: the noise correction, or None.
        pace: numbers of transitions in an iteration; None if the user's options fix it.
        remedy: the remedy against the bias of stale gradients, or None.
        scheme: the minibatch scheme that the warm-up chose; None if it is that of the options.
        other_modes: modes at which no chain starts; None if no search found any.
        centring: weights of the coordinates in which effects move, by site, from 0 (non-centred) to
            1 (centred); None if they move as the model has them. Latents of rows have two for each
            row, of the location and of the scale.
    """

    step_size: jax.Array | None
    friction: jax.Array | None
    preconditioner: AbstractPreconditioner
    gradient: AbstractGradient
    correction: AbstractCorrection | None = None
    pace: Pace | None = None
    remedy: AbstractRemedy | None = None
    scheme: AbstractMinibatch | None = None
    other_modes: OtherModes | None = None
    centring: dict[str, jax.Array] | None = None
