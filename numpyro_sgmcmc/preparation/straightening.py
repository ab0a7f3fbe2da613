"""Coordinates of effects in which the Gaussian at a sound mode holds better."""

import jax
import jax.numpy as jnp
from jax.core import Tracer

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preconditioner import Dense
from numpyro_sgmcmc.preparation.approximation import Approximation
from numpyro_sgmcmc.preparation.locate import Located, anchor_at, effects_of
from numpyro_sgmcmc.preparation.measure import curvature_at
from numpyro_sgmcmc.preparation.recentring import linearised, moved
from numpyro_sgmcmc.preparation.target import Target
from numpyro_sgmcmc.preparation.thresholds import BENT, BENT_TURNS, CURVATURE_POINTS, LEAST_GAIN


def straightened(target: Target, key: jax.Array, located: Located) -> Located:
    """Return the start of a warm-up in the form of effects in which curvature varies least.

    Where the data determine s x well, and the effects x and their scale s badly, a non-centred
    model has a bent posterior: x is a constant divided by s. Effects of neighbouring knots or times
    are also correlated, so that small bends of each add up to a large one of their sum. A mode
    exists, and its Gaussian describes U at most of its draws, but the curvature at the draws is
    many times that at the mode, and limits the step size. In the centred form the same posterior
    may be a Gaussian. Each site of effects is tried in its other form. It keeps that form if the
    largest curvature, at the same draws and in units of the same Gaussian, is at most half of what
    it was.

    Args:
        target: the model bound to its data, with effects as in the model.
        key: of the draws.
        located: a mode and its Gaussian approximation.
    """
    approximation = located.approximation
    is_known = isinstance(approximation.spread, Dense) and located.other_modes is None
    if not is_known or isinstance(approximation.centre, Tracer):
        return located
    effects = effects_of(target, jax.random.key(3), approximation.centre)
    if not effects:
        return located
    key_draws, *keys = random.keys_of(key, 1 + BENT_TURNS)
    points = approximation.draw(key_draws, BENT_TURNS * CURVATURE_POINTS)
    lowest = _largest_curvature(target, approximation.spread, points, keys)
    if not lowest > BENT:
        return located
    structure = target.structure
    images = {image.site for image in structure.images(target.args, target.kwargs)}
    centre = structure.by_site(approximation.centre)
    values = jax.vmap(structure.unravel)(jnp.concatenate([approximation.centre[None], points]))
    best, start = None, approximation
    weights = {name: jnp.full_like(centre[name], name not in images) for name in effects}
    for name in effects:
        tried = {**weights, name: 1 - weights[name]}
        chosen = target.partly_centred(tried)
        there = chosen.run(moved, values)
        spread = target.run(linearised, approximation, None, tried)
        found = _largest_curvature(chosen, spread, there[1:], keys)
        if found * LEAST_GAIN <= lowest:
            best, weights, lowest = chosen, tried, found
            start = Approximation(there[0], spread)
    if best is None:
        return located
    return Located(start, anchor_at(best, start.centre), None, weights)


def _largest_curvature(
    target: Target, spread: Dense, points: jax.Array, keys: list[jax.Array]
) -> float:
    """Return the largest curvature at points, (`BENT_TURNS` `CURVATURE_POINTS`, d).

    The warm-up's program, which has been compiled, looks at a part of them at a time. All forms of
    the effects are compared with the same keys.
    """
    parts = points.reshape(BENT_TURNS, CURVATURE_POINTS, -1)
    found = [
        target.run(curvature_at, spread, part, key, optimise=False).largest
        for part, key in zip(parts, keys, strict=True)
    ]
    return float(jnp.max(jnp.stack(found)))
