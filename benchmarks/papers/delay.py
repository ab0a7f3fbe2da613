"""A deterministic delay of any gradient estimator: what asynchronous workers do to a sampler."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.gradient import AbstractGradient, Anchor, Estimate
from numpyro_sgmcmc.types import Minibatch, Plate, StochasticPotential, WholeData


class Buffer(NamedTuple):
    """The last `delay` estimates, U (delay,) and gradients (delay, d), oldest at `place`."""

    inner: Any
    potential_energy: jax.Array
    gradient: jax.Array
    place: jax.Array


@final
@partial(jax.tree_util.register_dataclass, data_fields=["inner"], meta_fields=["delay"])
@dataclass(frozen=True)
class Delayed(AbstractGradient):
    """The estimate that `inner` gave `delay` transitions ago.

    Equation 3 of Chen et al. (2016), https://arxiv.org/abs/1610.06664.

    Biased: it belongs to an older position. The first `delay` transitions use the gradient of the
    whole data at the start.

    Args:
        inner: the estimator that is delayed.
        delay: number of transitions, 0 for none.
    """

    inner: AbstractGradient
    delay: int

    def init(self, whole: WholeData, position: jax.Array, anchor: Anchor | None) -> Buffer:
        """Return a buffer full of the exact gradient at the start."""
        value, gradient = whole.value_and_grad(position)
        return Buffer(
            self.inner.init(whole, position, anchor),
            jnp.broadcast_to(value, (self.delay,)),
            jnp.broadcast_to(gradient, (self.delay, *gradient.shape)),
            jnp.zeros((), jnp.int32),
        )

    def estimate(
        self,
        potential: StochasticPotential,
        position: jax.Array,
        minibatch: Minibatch,
        state: Buffer,
    ) -> tuple[Estimate, Buffer]:
        """Return the oldest estimate in the buffer, and put the new one in its place."""
        new, inner = self.inner.estimate(potential, position, minibatch, state.inner)
        if self.delay == 0:
            return new, state._replace(inner=inner)
        place = state.place
        old = Estimate(state.potential_energy[place], state.gradient[place])
        finite = jnp.isfinite(new.potential_energy) & jnp.all(jnp.isfinite(new.gradient))
        kept = jax.tree.map(lambda a, b: jnp.where(finite, a, b), new, old)
        return old, Buffer(
            inner,
            state.potential_energy.at[place].set(kept.potential_energy),
            state.gradient.at[place].set(kept.gradient),
            (place + 1) % self.delay,
        )

    def renewal_period(self, plates: dict[str, Plate]) -> int | None:
        """Return None: a renewal would empty the buffer."""
        return None
