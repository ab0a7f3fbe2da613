"""The preparation of a kernel whose step size the user gave."""

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor
from numpyro_sgmcmc.preconditioner import AbstractLinearMap, AbstractPreconditioner, Identity
from numpyro_sgmcmc.preparation.approximation import Approximation, laplace, point_count
from numpyro_sgmcmc.preparation.limits import suggested_friction
from numpyro_sgmcmc.preparation.locate import anchor_of, find_anchor
from numpyro_sgmcmc.preparation.measure import curvatures
from numpyro_sgmcmc.preparation.noise import measured_noise
from numpyro_sgmcmc.preparation.options import Options, without_anchor
from numpyro_sgmcmc.preparation.prepared import Prepared
from numpyro_sgmcmc.preparation.target import Target
from numpyro_sgmcmc.preparation.tuning import as_correction
from numpyro_sgmcmc.state import Tuned


def needs_start(options: Options, gradient: AbstractGradient) -> bool:
    """Return whether a start is needed, for the search for a mode or to measure curvature."""
    searches = gradient.anchor is None and _needs_anchor(options, gradient)
    return searches or options.dynamics.needs_friction


def complete(
    target: Target,
    key_mode: jax.Array,
    key_tune: jax.Array,
    options: Options,
    gradient: AbstractGradient,
    start: jax.Array | None,
) -> Prepared:
    """Return the anchor, noise correction and friction for a given step size.

    Args:
        target: the model bound to its data.
        key_mode: key of the search for a mode.
        key_tune: key of the measurements.
        options: the user's choices, with a step size.
        gradient: the gradient estimator.
        start: flat position; None if `needs_start` is false.
    """
    preconditioner = options.preconditioner or Identity()
    key_points, key_noise, key_friction = random.keys_of(key_tune, 3)
    anchor: Anchor | None = None
    approximation, correction = None, None
    if _needs_anchor(options, gradient):
        mode = find_anchor(target, key_mode, start, gradient.anchor)
        anchor, approximation = anchor_of(mode), Approximation(mode.position, None)
        if options.noise_correction:
            assert isinstance(preconditioner, AbstractLinearMap)
            count = point_count(mode.position.size)
            points = laplace(mode).draw(key_points, count, options.temperature)
            noise = measured_noise(target, key_noise, gradient, preconditioner, anchor, points)
            kind = str(options.noise_correction)
            correction = as_correction(kind, noise, options.temperature)
    friction = _friction(target, key_friction, options, preconditioner, start)
    tuned = Tuned(None, friction, preconditioner, without_anchor(gradient), correction)
    return Prepared(tuned, anchor, approximation, None)


def _needs_anchor(options: Options, gradient: AbstractGradient) -> bool:
    return gradient.needs_anchor or bool(options.noise_correction)


def _friction(
    target: Target,
    key: jax.Array,
    options: Options,
    preconditioner: AbstractPreconditioner,
    start: jax.Array | None,
) -> jax.Array | None:
    if not options.dynamics.needs_friction:
        return None
    assert isinstance(preconditioner, AbstractLinearMap)
    assert start is not None and options.step_size is not None
    found = target.run(curvatures, preconditioner, start, key, optimise=False)
    suggestion = suggested_friction(found.largest, found.mean, start.size)
    # Keeps exp(-D h) above 1/e: more friction would only slow the chain down.
    return jnp.minimum(suggestion, 1.0 / options.step_size(0)).astype(start.dtype)
