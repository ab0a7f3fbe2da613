"""Renewal of gradient estimators by passes over the whole data."""

from typing import Any

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.preparation import View


def renewed(
    gradient: AbstractGradient,
    view: View,
    state: Any,
    z: dict[str, jax.Array],
    count: jax.Array,
    num_steps: int,
    is_batched: bool,
) -> Any:
    """Return a walker's gradient state, renewed at `z` where its period is over.

    Args:
        gradient: the estimator.
        view: the model bound to its data.
        state: the estimator's state, with a leading axis of chains where `is_batched`.
        z: the walker's position by site, likewise.
        count: MCMC iterations so far, shape (): under a `vmap` over chains the pass over the data
            would be taken at every step.
        num_steps: transitions in one iteration.
        is_batched: whether there is an axis of chains.
    """
    period = gradient.renewal_period(view.plates)
    if period is None:
        return state

    def renew_one(old: Any, z: dict[str, jax.Array]) -> Any:
        new = gradient.init(view, ravel_pytree(z)[0], None)
        sound = jnp.all(jnp.isfinite(ravel_pytree(new)[0]))
        return jax.tree.map(lambda a, b: jnp.where(sound, a, b), new, old)

    renew = jax.vmap(renew_one) if is_batched else renew_one
    is_due = (count > 0) & (count % max(1, period // num_steps) == 0)
    return jax.lax.cond(is_due, lambda old: renew(old, z), lambda old: old, state)
