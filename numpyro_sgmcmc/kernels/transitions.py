"""The parts of an MCMC iteration: its beginning, its transitions and its end."""

from typing import Any

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preparation import Options
from numpyro_sgmcmc.staleness import age_of
from numpyro_sgmcmc.state import StaleGradientState, with_new_key, with_own_key
from numpyro_sgmcmc.stepper import Stepper
from numpyro_sgmcmc.transition import Walker, keep_if


def begun(state: Any) -> Any:
    """Return the state of one chain at the beginning of an iteration."""
    state = with_new_key(state)
    state = state._replace(weight=jnp.zeros_like(state.weight), diverging=jnp.zeros((), bool))
    if isinstance(state, StaleGradientState):
        state = state._replace(staleness=jnp.zeros_like(state.staleness))
    return state


def taken(stepper: Stepper, count: jax.Array, state: Any, walker: Walker) -> tuple[Any, Walker]:
    """Return state and walker after transition number `count`."""
    key, key_noise, key_batch = random.split(state.rng_key, 3)
    step_size = jnp.asarray(stepper.step_size(count), walker.position.dtype)
    minibatch, minibatch_state = stepper.minibatch(key_batch, count, state.minibatch)
    increment = stepper.increment(key_noise, walker.position, step_size)
    if minibatch.age is not None:
        age = age_of(minibatch, walker.gradient.past)
        state = state._replace(staleness=state.staleness + age.astype(state.staleness.dtype))
    moved = stepper.step(walker, minibatch, increment, step_size)
    state = state._replace(
        rng_key=key,
        step_size=step_size.astype(state.step_size.dtype),
        weight=state.weight + step_size.astype(state.weight.dtype),
        potential_energy=moved.potential_energy.astype(state.potential_energy.dtype),
        diverging=state.diverging | moved.diverging,
        minibatch=minibatch_state,
    )
    return state, moved.walker


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
