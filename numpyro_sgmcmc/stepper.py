"""One transition with its random keys, for a kernel bound to a model's arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.staleness import AbstractDelay
from numpyro_sgmcmc.transition import Moved, Transition, Walker
from numpyro_sgmcmc.types import Minibatch, Plate, StochasticPotential


@final
@dataclass(frozen=True)
class Stepper:
    """Draws minibatches and increments, and takes transitions. Keys are not passed on from here.

    With a `delay`, minibatches have an age.
    """

    potential: StochasticPotential
    transition: Transition
    scheme: AbstractMinibatch
    plates: dict[str, Plate]
    is_random: bool
    temperature: float
    step_size: Callable[[Any], Any]
    delay: AbstractDelay | None = None

    def increment(self, key: jax.Array, position: jax.Array, step_size: jax.Array) -> jax.Array:
        """Return a Brownian increment at this temperature: a draw of N(0, T h I)."""
        noise = random.normal(key, position.shape, position.dtype)
        return sqrt(self.temperature) * jnp.sqrt(step_size) * noise

    def minibatch(self, key: jax.Array, count: jax.Array, state: Any) -> tuple[Minibatch, Any]:
        """Return the minibatch with number `count`, and the next state of the scheme."""
        key_density = key_age = age = None
        if self.is_random:
            key, key_density = random.split(key)
        if self.delay is not None:
            # Other delays leave the keys of the minibatches as they are without a delay.
            if self.delay.is_random:
                key, key_age = random.split(key)
            age = self.delay.draw(key_age, count)
        if not self.plates:
            return Minibatch({}, key_density, age), state
        indices, state = self.scheme.draw(key, count, self.plates, state)
        return Minibatch(indices, key_density, age), state

    def step(
        self, walker: Walker, minibatch: Minibatch, increment: jax.Array, step_size: jax.Array
    ) -> Moved:
        """Return the walker after one transition."""
        return self.transition.step(self.potential, walker, minibatch, increment, step_size)
