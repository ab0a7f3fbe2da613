"""The parts of an MCMC iteration: its beginning, its transitions and its end."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preparation import Options
from numpyro_sgmcmc.staleness import age_of
from numpyro_sgmcmc.state import StaleGradientState, with_new_key, with_own_key
from numpyro_sgmcmc.stepper import Stepper
from numpyro_sgmcmc.transition import Walker, keep_if
from numpyro_sgmcmc.types import Minibatch


class Drawn(NamedTuple):
    """What is random in a transition, which does not depend on gradients.

    Attributes:
        key: the chain's key after it.
        minibatch: its minibatch.
        scheme: the state of the minibatch scheme after it.
        increment: its Brownian increment, (d,) or (k, d).
    """

    key: jax.Array
    minibatch: Minibatch
    scheme: Any
    increment: jax.Array


def begun(state: Any) -> Any:
    """Return the state of one chain at the beginning of an iteration."""
    state = with_new_key(state)
    state = state._replace(weight=jnp.zeros_like(state.weight), diverging=jnp.zeros((), bool))
    if isinstance(state, StaleGradientState):
        state = state._replace(staleness=jnp.zeros_like(state.staleness))
    return state


def drawn(stepper: Stepper, count: jax.Array, state: Any, position: jax.Array) -> Drawn:
    """Return what is random in transition number `count`; of the position the type counts."""
    key, key_noise, key_batch = random.split(state.rng_key, 3)
    step_size = jnp.asarray(stepper.step_size(count), position.dtype)
    minibatch, scheme = stepper.minibatch(key_batch, count, state.minibatch)
    return Drawn(key, minibatch, scheme, stepper.increment(key_noise, position, step_size))


def taken(stepper: Stepper, count: jax.Array, state: Any, walker: Walker) -> tuple[Any, Walker]:
    """Return state and walker after transition number `count`."""
    return moved(stepper, count, state, walker, drawn(stepper, count, state, walker.position))


def moved(
    stepper: Stepper, count: jax.Array, state: Any, walker: Walker, drawn: Drawn
) -> tuple[Any, Walker]:
    """Return state and walker after transition number `count` with what was drawn for it."""
    minibatch = drawn.minibatch
    step_size = jnp.asarray(stepper.step_size(count), walker.position.dtype)
    if minibatch.age is not None:
        age = age_of(minibatch, walker.gradient.past)
        state = state._replace(staleness=state.staleness + age.astype(state.staleness.dtype))
    found = stepper.step(walker, minibatch, drawn.increment, step_size)
    state = state._replace(
        rng_key=drawn.key,
        step_size=step_size.astype(state.step_size.dtype),
        weight=state.weight + step_size.astype(state.weight.dtype),
        potential_energy=found.potential_energy.astype(state.potential_energy.dtype),
        diverging=state.diverging | found.diverging,
        minibatch=drawn.scheme,
    )
    return state, found.walker


def ended(
    options: Options,
    structure: Structure,
    args: tuple,
    kwargs: dict,
    state: Any,
    walker: Walker,
    start: Walker,
    steps: Any,
) -> tuple[Any, Walker]:
    """Return state and walker at the end of an iteration of so many transitions.

    If the walker's values cannot be constrained, it returns to where it was at the start.
    """
    unravel = structure.unravel
    sound = structure.can_be_constrained(unravel(walker.position), args, kwargs)
    walker = keep_if(sound, walker, start)
    state = state._replace(diverging=state.diverging | ~sound)
    if isinstance(state, StaleGradientState):
        state = state._replace(staleness=state.staleness / steps)
    state = state._replace(
        i=state.i + 1,
        z=unravel(walker.position),
        aux=walker.aux,
        preconditioner=walker.preconditioner,
        num_diverging=state.num_diverging + state.diverging.astype(jnp.int32),
        kinetic_temperature=options.dynamics.kinetic_temperature(walker.aux),
    )
    return with_own_key(state), walker
