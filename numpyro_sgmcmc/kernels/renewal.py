"""Renewal of gradient estimators by passes over the whole data."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from numpyro.util import is_prng_key

from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preparation import Options, View
from numpyro_sgmcmc.state import Pace


def renewed(
    options: Options,
    structure: Structure,
    args: tuple,
    kwargs: dict,
    state: Any,
    gradient_state: Any,
    z: Any,
    has_replicas: bool = False,
) -> Any:
    """Return a walker's gradient state, renewed at `z` if its period has ended.

    This must be done outside the `vmap` over chains. Inside, the conditional would become a
    selection, and every step would take a pass over the data.

    Args:
        options: options of the kernel.
        structure: structure of the model.
        args: positional arguments of the model.
        kwargs: keyword arguments of the model.
        state: state of one or of all chains, for the iteration count and the estimator.
        gradient_state: the walker's gradient state, with a leading axis if there are many chains.
        z: the walker's position, flat or by site, with the same leading axis.
        has_replicas: whether a chain has several such walkers, along the next axis.
    """
    gradient = state.tuned.gradient
    period = gradient.renewal_period(structure.plates)
    if period is None:
        return gradient_state
    view = View(structure, options.minibatch, args, kwargs)

    def renew_one(old: Any, z: Any) -> Any:
        new = gradient.init(view, ravel_pytree(z)[0], None)
        sound = jnp.all(jnp.isfinite(ravel_pytree(new)[0]))
        return jax.tree.map(lambda a, b: jnp.where(sound, a, b), new, old)

    renew = jax.vmap(renew_one) if has_replicas else renew_one
    renew = renew if is_prng_key(state.rng_key) else jax.vmap(renew)
    is_due = is_due_now(options, state, period)
    return jax.lax.cond(is_due, lambda old: renew(old, z), lambda old: old, gradient_state)


def is_due_now(options: Options, state: Any, period: int) -> jax.Array:
    """Return whether something that is done every `period` transitions is due, for all chains.

    The period is rounded down to whole iterations, at least one. Nothing is due at the start.
    """
    first = state.i, state.tuned.pace
    is_single = is_prng_key(state.rng_key)
    count, pace = first if is_single else jax.tree.map(lambda leaf: leaf[0], first)
    return (count > 0) & _is_first_of_period(count, period, options.num_steps, pace)


def _is_first_of_period(
    count: jax.Array, period: int, num_steps: int | None, pace: Pace | None
) -> jax.Array:
    """Return whether an iteration begins a period, rounded down to whole iterations."""
    if pace is None:
        assert num_steps is not None
        return count % max(1, period // num_steps) == 0
    # The period begins anew where the number of transitions changes.
    done = jnp.where(count < pace.num_warmup, count, count - pace.num_warmup)
    return done % jnp.maximum(1, period // pace.steps(count)) == 0
