"""Walkers relax from the draws of a fit, whose tails may be far from those of the posterior."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents import LatentTable
from numpyro_sgmcmc.preconditioner import AbstractLinearMap
from numpyro_sgmcmc.preparation.latents.choosing import (
    SHORTEST,
    Given,
    chosen_from,
    first_limits,
)
from numpyro_sgmcmc.preparation.latents.curvature import typical_at_latents
from numpyro_sgmcmc.preparation.latents.noise import Walkers
from numpyro_sgmcmc.preparation.latents.starts import Starts, walkers_of
from numpyro_sgmcmc.preparation.latents.window import LatentWindow
from numpyro_sgmcmc.preparation.noise import silence
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.target import Target

ROUNDS = 5
"""Windows in which no walker diverges, after each of which curvature and noise are measured."""

TRIES = 10
"""Windows at most."""

FIRST = 0.3
"""First step size in minibatches of all rows. Until a row is visited again, walkers with a momentum
of 1 then move by this many scales, and their noise is small."""


def relaxed(
    target: Target,
    key: jax.Array,
    options: Options,
    linear: AbstractLinearMap,
    starts: Starts,
) -> tuple[Given, Walkers]:
    """Return walkers that have relaxed, with the curvature and the gradient noise there.

    At draws of independent Gaussians a parameter with a flat and a steep side, as the logarithm of
    a small weight, is often on the steep one, where its curvature is a hundred times as large as
    anywhere in the posterior. Short windows therefore come first, with step sizes that such a
    curvature allows, and small ones, because the noise of a table of gradients grows with them. If
    a walker diverges, all start anew with a quarter of the step size.

    Raises:
        ValueError: if walkers diverge at each of the step sizes.
    """
    key_first, key = random.keys_of(key, 2)
    begun = partial(target.run, walkers_of, starts, optimise=False)
    (plate,) = target.structure.plates.values()
    length = max(SHORTEST, -(-plate.size // plate.subsample_size))

    def given_at(key: jax.Array, walkers: Walkers) -> Given:
        curvature = target.run(typical_at_latents, linear, walkers, key, optimise=False)
        nothing = silence(jnp.zeros_like(curvature.largest), target.structure.dimension)
        return Given(LatentTable(), linear, curvature, nothing)

    walkers = begun()
    given = given_at(key_first, walkers)
    limits = first_limits(target, options, given.curvature)
    chosen = chosen_from(options, given, given.noise, limits, 1.0, None)
    largest = FIRST * plate.subsample_size / plate.size
    step_size = jnp.minimum(chosen.step_size, largest)
    window = LatentWindow(limits.dynamics, options.temperature, options.increments)
    done = 0
    for key_try in random.keys_of(key, TRIES):
        key_window, key_signs = random.keys_of(key_try, 2)
        tuned = chosen.tuned._replace(step_size=step_size)
        shown = window.run(target, key_window, tuned, walkers, length)
        walkers, bad = shown.walkers, float(shown.seen.diverging)
        if bad > 0 or not np.all(np.isfinite(shown.seen.last)):
            step_size, walkers, done = step_size / 4, begun(), 0
            continue
        done += 1
        given = given_at(key_signs, walkers)._replace(noise=shown.noise, step_size=step_size)
        if done == ROUNDS:
            return given, walkers
        chosen = chosen_from(options, given, given.noise, limits, 1.0, step_size)
        step_size = chosen.step_size
    raise ValueError(
        "Expected walkers of a model with latents of rows that stay near the posterior; got ones"
        f" that diverge in some of {TRIES} windows, with step sizes down to {float(step_size):.2g}."
        " Pass `init_params` of the shared sites near the posterior, larger minibatches, or"
        " `step_size` and `num_steps`."
    )
