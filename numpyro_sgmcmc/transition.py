"""The transition: the only place where dynamics, gradient, preconditioner and noise meet."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.correction import AbstractCorrection
from numpyro_sgmcmc.cpu.finite import all_finite
from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.preconditioner import AbstractPreconditioner
from numpyro_sgmcmc.pytree import as_pytree
from numpyro_sgmcmc.types import Minibatch, StochasticPotential


class Walker(NamedTuple):
    """A walker: its flat unconstrained position (d,), and the states of its parts."""

    position: jax.Array
    aux: Any
    gradient: Any
    preconditioner: Any = ()


class Moved(NamedTuple):
    """A walker after a step, the estimate of U at the query, and whether the step was refused."""

    walker: Walker
    potential_energy: jax.Array
    diverging: jax.Array


@final
@as_pytree()
@dataclass(frozen=True)
class Transition:
    """One step of any dynamics with any gradient estimate under any preconditioner.

    `query` returns the position at which the gradient is needed. `apply` moves the walker with a
    gradient, which may have been computed earlier or elsewhere. `step` does both. Increments
    dW ~ N(0, h I), (d,) or as many as the dynamics need, and minibatches are arguments.
    """

    dynamics: AbstractDynamics
    gradient: AbstractGradient
    preconditioner: AbstractPreconditioner
    correction: AbstractCorrection | None = None

    def query(self, walker: Walker, step_size: jax.Array) -> jax.Array:
        """Return the position at which the gradient is needed, shape (d,)."""
        offset = self.dynamics.lookahead(walker.aux, step_size, walker.position)
        return walker.position + self.preconditioner.at(walker.preconditioner).apply(offset)

    def apply(
        self, walker: Walker, gradient: jax.Array, increment: jax.Array, step_size: jax.Array
    ) -> Walker:
        """Return the walker after one step with the given gradient in z, shape (d,)."""
        linear = self.preconditioner.at(walker.preconditioner)
        whitened = linear.transpose(gradient)
        if self.correction is not None:
            heating = partial(self.dynamics.heating, step_size=step_size)
            reduce = partial(self.correction.reduce, heating=heating)
            several = self.dynamics.increments_per_step > 1
            increment = jax.vmap(reduce)(increment) if several else reduce(increment)
        displacement, aux = self.dynamics.step(walker.aux, whitened, increment, step_size)
        position = walker.position + linear.apply(displacement)
        drift = self.preconditioner.drift(walker.preconditioner)
        if drift is not None:
            position = position + step_size * drift
        return walker._replace(position=position, aux=aux)

    def step(
        self,
        potential: StochasticPotential,
        walker: Walker,
        minibatch: Minibatch,
        increment: jax.Array,
        step_size: jax.Array,
    ) -> Moved:
        """Return the walker after one step.

        A step is refused if its potential, its gradient or the new position is not finite. Then
        the walker keeps everything but the new state of its gradient, and `diverging` is true.
        """
        query = self.query(walker, step_size)
        estimate, gradient_state = self.gradient.estimate(
            potential, query, minibatch, walker.gradient
        )
        moved = self.apply(walker, estimate.gradient, increment, step_size)
        moved = moved._replace(
            gradient=gradient_state,
            preconditioner=self.preconditioner.update(
                walker.preconditioner, potential, query, minibatch, estimate.gradient, increment
            ),
        )
        finite = jnp.isfinite(estimate.potential_energy) & all_finite(moved.position)
        return Moved(keep_if(finite, moved, walker), estimate.potential_energy, ~finite)


def keep_if(accepted: jax.Array, new: Walker, old: Walker) -> Walker:
    """Return `new` if accepted, else `old` with the gradient's state of `new`.

    This state may be as large as the data (SAGA's table), and a selection would copy it at each
    step.
    """
    choose = partial(jax.tree.map, lambda a, b: jnp.where(accepted, a, b))
    kept = choose(new._replace(gradient=()), old._replace(gradient=()))
    return kept._replace(gradient=new.gradient)
