"""How walkers approach the posterior of many shared parameters: by the run's own transitions."""

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents import PlainAtLatents
from numpyro_sgmcmc.preconditioner import Identity
from numpyro_sgmcmc.preparation.latents.curvature import curvature_at_latents
from numpyro_sgmcmc.preparation.latents.noise import Walkers
from numpyro_sgmcmc.preparation.latents.settle import WALKERS
from numpyro_sgmcmc.preparation.latents.starts import starts_of
from numpyro_sgmcmc.preparation.latents.walkers import redrawn_walkers, started
from numpyro_sgmcmc.preparation.latents.window import LatentWindow
from numpyro_sgmcmc.preparation.limits import suggested_friction
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.prepared import Prepared
from numpyro_sgmcmc.preparation.request import Request
from numpyro_sgmcmc.preparation.target import Target
from numpyro_sgmcmc.preparation.thresholds import MOST_TRANSITIONS
from numpyro_sgmcmc.state import Tuned

ROUNDS = 8
"""Rounds of transitions, before each of which the proposals for latents are found anew."""

LEAST_SWEEPS = 8
"""Sweeps over the rows of all rounds together, at least, for proposals of continuous latents."""


def approached(target: Target, key: jax.Array, options: Options, request: Request) -> Prepared:
    """Return what a run with a given step size starts from, for many shared parameters.

    A matrix for the shared parameters would be too large, and so would a table of the rows'
    gradients. Walkers therefore go from starts of their own by the run's own transitions, as many
    as its warm-up has, in rounds. Before each round, and after the last, the latents of all rows
    are drawn from Laplace approximations at the walker's shared parameters, which also give the
    proposals of later moves, and are moved once. Proposals found at the start would be useless
    where the shared parameters have moved far; moves are exact with any. Chains then take the
    user's warm-up from there.

    Discrete latents have no proposals. Where there are no others, the rounds only serve to choose a
    friction at the end of them, and there are none if the friction is given too.

    Raises:
        ValueError: if no start is finite.
    """
    assert options.step_size is not None and options.num_steps is not None
    key_start, key_friction, key_rounds = random.keys_of(key, 3)
    walkers = started(target, key_start, options, request, WALKERS)
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

    local = target.structure.local
    assert local is not None
    total = _transitions(target, options, request)
    window = LatentWindow(options.dynamics, options.temperature, options.increments)
    step_size = jnp.asarray(first, walkers.positions.dtype)
    for key_round in random.keys_of(key_rounds, ROUNDS) if total else ():
        key_window, key_latents, key_first = random.keys_of(key_round, 3)
        tuned = with_friction(key_first, walkers)._replace(step_size=step_size)
        walkers = window.run(target, key_window, tuned, walkers, -(-total // ROUNDS)).walkers
        if local.sites:
            keys = random.split(key_latents, WALKERS)
            walkers = target.run(redrawn_walkers, keys, walkers, donate=(1,))
    tuned = with_friction(key_friction, walkers)
    starts = starts_of(walkers, options.num_steps * request.num_warmup)
    return Prepared(tuned, None, None, None, starts)


def _transitions(target: Target, options: Options, request: Request) -> int:
    """Return the number of transitions of a walker in all rounds."""
    local, (plate,) = target.structure.local, target.structure.plates.values()
    assert local is not None and options.num_steps is not None
    if not local.sites and not options.dynamics.needs_friction:
        return 0
    least = LEAST_SWEEPS * -(-plate.size // plate.subsample_size) if local.sites else 0
    return min(max(options.num_steps * request.num_warmup, least), MOST_TRANSITIONS)
