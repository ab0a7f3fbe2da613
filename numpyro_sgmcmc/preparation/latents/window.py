"""Windows of walkers with latents of rows, which measure noise and autocorrelation."""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.identity import identity_of
from numpyro_sgmcmc.preparation.latents.noise import Walkers, noise_at_latents
from numpyro_sgmcmc.preparation.noise import Noise
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import BURN_IN, SEGMENTS
from numpyro_sgmcmc.preparation.windows import Seen
from numpyro_sgmcmc.state import Tuned
from numpyro_sgmcmc.stepper import Stepper
from numpyro_sgmcmc.transition import Transition, Walker


class Shown(NamedTuple):
    """What a window shows: where the walkers are, their statistics, and the gradient noise.

    `centre`, (d,), is what the statistics are deviations from, and `lost`, (walkers,), tells which
    walkers diverged in more than half of their transitions.
    """

    walkers: Walkers
    seen: Seen
    noise: Noise
    centre: jax.Array
    lost: jax.Array


@final
@dataclass(frozen=True, eq=False)
class LatentWindow:
    """A window's program, compiled once for all lengths and settings."""

    dynamics: AbstractDynamics
    temperature: float
    increments: str | None

    def run(
        self, target: Target, key: jax.Array, tuned: Tuned, walkers: Walkers, length: int
    ) -> Shown:
        """Return what the walkers show over so many transitions from where they are.

        Their memory is used for the walkers that it returns.
        """
        name = LatentWindow, identity_of(self.dynamics), self.temperature, self.increments
        steps = jnp.asarray(length, jnp.int32)
        return target.run(self._run, key, tuned, walkers, steps, name=name, donate=(2,))

    def _run(
        self, view: View, key: jax.Array, tuned: Tuned, walkers: Walkers, length: jax.Array
    ) -> Shown:
        start, states = walkers
        count, dimension = start.shape
        keys_aux, keys_scheme, keys_steps, keys_noise = random.split(key, (4, count))
        dynamics = self.dynamics.with_friction(tuned.friction)
        stepper = Stepper(
            potential=view.potential,
            transition=Transition(dynamics, tuned.gradient, tuned.preconditioner),
            scheme=view.scheme,
            plates=view.plates,
            is_random=True,
            temperature=self.temperature,
            step_size=lambda count: tuned.step_size,
            increments=self.increments,
        )
        h = jnp.asarray(tuned.step_size, start.dtype)
        fresh = partial(dynamics.init, position=start[0], temperature=self.temperature)

        def step(
            walker: Walker, scheme: Any, key: jax.Array, number: jax.Array
        ) -> tuple[Walker, Any, jax.Array, jax.Array]:
            key, key_noise, key_batch = random.split(key, 3)
            minibatch, scheme = stepper.minibatch(key_batch, number, scheme)
            increment = stepper.increment(key_noise, walker.position, h)
            moved = stepper.step(walker, minibatch, increment, h)
            return moved.walker, scheme, key, moved.diverging

        step = jax.vmap(step, in_axes=(0, 0, 0, None))
        burnt = length // BURN_IN
        each = (length - burnt) // SEGMENTS
        centre = start.mean(0)

        def body(number: jax.Array, carry: tuple[Any, ...]) -> tuple[Any, ...]:
            walker, scheme, keys, segments, squares, bad = carry
            walker, scheme, keys, diverged = step(walker, scheme, keys, number)
            segment = (number - burnt) // jnp.maximum(each, 1)
            within = ((number >= burnt) & (segment < SEGMENTS)).astype(start.dtype)
            away = within * (walker.position - centre)
            segments = segments.at[jnp.clip(segment, 0, SEGMENTS - 1)].add(away)
            return walker, scheme, keys, segments, squares + jnp.sum(away**2, 0), bad + diverged

        carry = (
            Walker(start, jax.vmap(fresh)(keys_aux), states),
            jax.vmap(partial(view.scheme.init, plates=view.plates))(keys_scheme),
            keys_steps,
            jnp.zeros((SEGMENTS, *start.shape), start.dtype),
            jnp.zeros(dimension, start.dtype),
            jnp.zeros(count, jnp.int32),
        )
        walker, _, _, segments, squares, bad = jax.lax.fori_loop(0, length, body, carry)
        segments = segments / jnp.maximum(each, 1)
        mean_square = squares / (jnp.maximum(each, 1) * SEGMENTS * count)
        seen = Seen(
            means=segments.mean(0),
            second=None,
            path=walker.position[None],
            last=walker.position,
            diverging=jnp.mean(bad / length),
            length=length - burnt,
            segments=segments,
            variances=mean_square - jnp.mean(segments, axis=(0, 1)) ** 2,
            segment_length=each,
        )
        after = Walkers(walker.position, walker.gradient)
        given = tuned.gradient, tuned.preconditioner, after, keys_noise
        return Shown(after, seen, noise_at_latents(view, *given), centre, 2 * bad > length)
