"""How walkers approach the posterior of many shared parameters: by the run's own transitions."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents import (
    LatentState,
    PlainAtLatents,
    first_state,
    redrawn_everywhere,
)
from numpyro_sgmcmc.preconditioner import Identity
from numpyro_sgmcmc.preparation.latents.curvature import curvature_at_latents
from numpyro_sgmcmc.preparation.latents.noise import Walkers
from numpyro_sgmcmc.preparation.latents.potential import potential_of
from numpyro_sgmcmc.preparation.latents.settle import TRIES, WALKERS, first_latents
from numpyro_sgmcmc.preparation.latents.starts import starts_of
from numpyro_sgmcmc.preparation.latents.sweep import continuous_drawn, energy_of
from numpyro_sgmcmc.preparation.latents.window import LatentWindow
from numpyro_sgmcmc.preparation.limits import suggested_friction
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.prepared import Prepared
from numpyro_sgmcmc.preparation.request import Request
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import MOST_TRANSITIONS
from numpyro_sgmcmc.state import Tuned

ROUNDS = 8
"""Rounds of transitions, before each of which the proposals for latents are found anew."""

LEAST_SWEEPS = 8
"""Sweeps over the rows of all rounds together, at least."""


def approached(target: Target, key: jax.Array, options: Options, request: Request) -> Prepared:
    """Return what a run with a given step size starts from, for many shared parameters.

    A matrix for the shared parameters would be too large, and so would a table of the rows'
    gradients. Walkers therefore go from starts of their own by the run's own transitions, as many
    as its warm-up has, in rounds. Before each round, and after the last, the latents of all rows
    are drawn from Laplace approximations at the walker's shared parameters, which also give the
    proposals of later moves, and are moved once. Proposals found at the start would be useless
    where the shared parameters have moved far; moves are exact with any. Chains then take the
    user's warm-up from there.

    Raises:
        ValueError: if no start is finite.
    """
    assert options.step_size is not None and options.num_steps is not None
    key_start, key_friction, key_rounds = random.keys_of(key, 3)
    walkers = _started(target, key_start, options, request)
    linear = options.preconditioner or Identity()
    first = options.step_size(0)

    def with_friction(key: jax.Array, walkers: Walkers) -> Tuned:
        friction = None
        if options.dynamics.needs_friction:
            keys = random.split(key, WALKERS)
            found = target.run(curvature_at_latents, linear, walkers, keys, optimise=False)
            ends = jnp.max(found.largest), jnp.mean(found.mean)
            suggestion = suggested_friction(*ends, target.structure.dimension)
            # Keeps exp(-D h) above 1/e, as in `complete`.
            friction = jnp.minimum(suggestion, 1.0 / first).astype(walkers.positions.dtype)
        return Tuned(None, friction, linear, PlainAtLatents())

    (plate,) = target.structure.plates.values()
    least = LEAST_SWEEPS * -(-plate.size // plate.subsample_size)
    total = min(max(options.num_steps * request.num_warmup, least), MOST_TRANSITIONS)
    window = LatentWindow(options.dynamics, options.temperature, options.increments)
    step_size = jnp.asarray(first, walkers.positions.dtype)
    for key_round in random.keys_of(key_rounds, ROUNDS):
        key_window, key_latents, key_first = random.keys_of(key_round, 3)
        tuned = with_friction(key_first, walkers)._replace(step_size=step_size)
        shown = window.run(target, key_window, tuned, walkers, -(-total // ROUNDS))
        keys = random.split(key_latents, WALKERS)
        walkers = target.run(_redrawn, keys, shown.walkers, donate=(1,))
    tuned = with_friction(key_friction, walkers)
    starts = starts_of(walkers, options.num_steps * request.num_warmup)
    return Prepared(tuned, None, None, None, starts)


def _started(target: Target, key: jax.Array, options: Options, request: Request) -> Walkers:
    """Return walkers at starts with finite densities, with latents given these.

    Raises:
        ValueError: if there are too few.
    """
    found: list[Walkers] = []
    for key_try in random.keys_of(key, WALKERS * TRIES):
        key_first, key_latents = random.keys_of(key_try, 2)
        given = first_latents(target, key_first, options, request)
        walker = target.run(_first, key_latents, *given)
        if bool(np.isfinite(target.run(_energy, walker))):
            found.append(walker)
        if len(found) == WALKERS:
            return jax.tree.map(lambda *leaves: jnp.stack(leaves), *found)
    raise ValueError(
        f"Expected {WALKERS} starts with a finite joint density of shared parameters and latents"
        f" of rows; got {len(found)} in {WALKERS * TRIES} tries. Pass `init_params` of the shared"
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


def _redrawn(view: View, keys: jax.Array, walkers: Walkers) -> Walkers:
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
