"""Walkers at starts of their own, without a table of gradients, and their latents drawn anew."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents import LatentState, first_state, redrawn_everywhere
from numpyro_sgmcmc.preparation.latents.beginnings import TRIES, first_latents
from numpyro_sgmcmc.preparation.latents.noise import Walkers
from numpyro_sgmcmc.preparation.latents.potential import potential_of
from numpyro_sgmcmc.preparation.latents.sweep import continuous_drawn, energy_of
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.request import Request
from numpyro_sgmcmc.preparation.target import Target, View


def started(
    target: Target, key: jax.Array, options: Options, request: Request, count: int
) -> Walkers:
    """Return so many walkers at starts with finite densities, with latents given these.

    Raises:
        ValueError: if there are too few.
    """
    found: list[Walkers] = []
    for key_try in random.keys_of(key, count * TRIES):
        key_first, key_latents = random.keys_of(key_try, 2)
        given = first_latents(target, key_first, options, request)
        walker = target.run(_first, key_latents, *given)
        if bool(np.isfinite(target.run(_energy, walker))):
            found.append(walker)
        if len(found) == count:
            return jax.tree.map(lambda *leaves: jnp.stack(leaves), *found)
    raise ValueError(
        f"Expected {count} starts with a finite joint density of shared parameters and latents"
        f" of rows; got {len(found)} in {count * TRIES} tries. Pass `init_params` of the shared"
        " sites or an `init_strategy` inside the support, and check the data for NaN and extreme"
        " values."
    )


def _first(view: View, key: jax.Array, position: jax.Array, discrete: jax.Array) -> Walkers:
    size, dimension = len(discrete), potential_of(view).structure.local.dimension
    values = jnp.zeros((size, dimension), position.dtype)
    factor = jnp.zeros((size, dimension, dimension), position.dtype)
    given = values, factor, jnp.ones((), position.dtype), discrete
    state = first_state(potential_of(view), position, *given, has_table=False)
    return Walkers(position, _one_redrawn(view, key, position, state))


def _energy(view: View, walker: Walkers) -> jax.Array:
    position, state = walker
    given = state.values, state.discrete, jnp.arange(len(state.values))
    return energy_of(potential_of(view), position, *given)


def redrawn_walkers(view: View, keys: jax.Array, walkers: Walkers) -> Walkers:
    """Return the walkers with latents of all rows drawn from Laplace approximations, moved once.

    These also give the proposals of later moves.
    """
    drawn = partial(_one_redrawn, view)
    states = jax.lax.map(lambda inputs: drawn(*inputs), (keys, *walkers))
    return Walkers(walkers.positions, states)


def _one_redrawn(
    view: View, key: jax.Array, position: jax.Array, state: LatentState
) -> LatentState:
    """Return latents of all rows given the shared parameters, with proposals found there."""
    key_discrete, key_rows, key_move = random.split(key, 3)
    potential, rows = potential_of(view), jnp.arange(len(state.values))
    local, values, discrete = potential.structure.local, state.values, state.discrete
    if local.discrete:
        discrete = redrawn_everywhere(potential, position, values, discrete, rows, key_discrete)
    if not local.sites:
        return state.having(discrete=discrete)
    keys = key_rows, key_move
    given = values, discrete, rows, state.step, keys
    values, factor, step = continuous_drawn(potential, position, *given, each_slope=False)
    found = state.having(values=values, discrete=discrete, factor=factor)
    return found._replace(step=step)
