"""Minibatches by epochs, whose noise cancels, where they allow a faster chain."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.minibatch import AbstractMinibatch, Epoch, ReshuffledMinibatch
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preparation.limits import Chosen, Limits, choose
from numpyro_sgmcmc.preparation.noise import Noise
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.thresholds import (
    CURVATURES,
    LEAST_GAIN,
    MOST_BLOCKS,
    STEP_FACTORS,
    TOLERANCE,
)
from numpyro_sgmcmc.stationary import relative_variance
from numpyro_sgmcmc.types import Plate

TINY = np.finfo(np.float64).tiny


class InEpochs(NamedTuple):
    """A scheme whose minibatches go through all rows in epochs, and what it allows."""

    scheme: AbstractMinibatch
    chosen: Chosen


def may_use_epochs(options: Options, gradient: AbstractGradient, structure: Structure) -> bool:
    """Return whether the warm-up may choose minibatches by epochs.

    The user must have left the scheme open, and asked for no noise correction. What is left of the
    noise must be known: there is one subsampled plate, the density is not random, the estimator
    does not follow the walker, gradients are not stale, the dynamics are linear, and an epoch is
    short enough for its recursion.
    """
    dynamics = options.dynamics
    if not options.has_open_minibatch or options.staleness is not None or structure.is_random:
        return False
    if options.noise_correction or not gradient.has_constant_state:
        return False
    if dynamics.linearised() is not dynamics:
        return False
    if len(structure.plates) != 1 or options.temperature == 0:
        return False
    (plate,) = structure.plates.values()
    return 2 <= plate.size // plate.subsample_size <= MOST_BLOCKS


def in_epochs(
    plate: Plate,
    limits: Limits,
    noise: Noise,
    independent: Chosen,
    temperature: float,
    most: Any,
    caution: float,
    curvatures: tuple[Any, Any],
    can_slow: bool,
) -> InEpochs | None:
    """Return epochs and the settings that they allow; None if independent minibatches do as well.

    What noise adds to a variance follows from the exact recursion on a Gaussian
    (`stationary/epochs.py`). If an epoch is short compared with the relaxation time, it is of
    third order in h for dynamics with a momentum and of second order for Langevin dynamics, where
    independent minibatches have the first order. The largest value over the range of curvatures
    counts, because the curvature along a noisy direction is not known.

    Args:
        plate: the subsampled plate.
        limits: what limits the step size, and the dynamics with their friction.
        noise: what was measured of gradient noise.
        independent: what independent minibatches allow.
        temperature: T.
        most: the largest relative error of a variance that noise may cause.
        caution: factor of the step size; below 1 if larger step sizes have diverged.
        curvatures: the smallest and the largest curvature.
        can_slow: whether noisy directions may be slowed down.
    """
    if isinstance(independent.step_size, Tracer):
        return None
    slowest, largest = (float(x) for x in curvatures)
    if not largest > 0:  # as where derivatives are not finite
        return None
    relaxation = limits.dynamics.relaxation_steps
    enough = float(independent.relaxation_steps) / LEAST_GAIN
    if float(relaxation(slowest, caution * limits.smooth)) > enough:
        return None
    scheme = ReshuffledMinibatch()
    grid = np.geomspace(max(min(slowest, largest), 1e-3 * largest), largest, CURVATURES)
    best: Chosen | None = None
    for factor in STEP_FACTORS:
        h = float(limits.smooth) * factor
        if not float(relaxation(slowest, caution * h)) <= enough:
            break
        heating = _heating(limits.dynamics, h, grid, scheme.epoch(plate)) / temperature
        quiet = min(float(most) / max(heating * float(noise.largest), TINY), 1.0)
        is_quiet = quiet == 1 or (
            can_slow
            and heating * float(noise.typical) <= float(most)
            and heating * float(noise.residual) <= TOLERANCE / 2
        )
        steps = float(relaxation(slowest * quiet, caution * h))
        if is_quiet and steps <= enough:
            enough = steps
            best = Chosen(
                step_size=jnp.asarray(caution * h),
                share=jnp.asarray(heating * quiet * float(noise.largest)),
                relaxation_steps=jnp.asarray(steps),
                batch_factor=jnp.asarray(float(limits.smooth) / h),
                largest_noise=jnp.asarray(quiet),
            )
    return None if best is None else InEpochs(scheme, best)


def fastest(
    options: Options,
    gradient: AbstractGradient,
    structure: Structure,
    limits: Limits,
    noise: Noise,
    share: Any,
    temperature: float,
    most: Any,
    caution: float,
    curvatures: tuple[Any, Any],
    can_slow: bool,
) -> Chosen:
    """Return the faster settings of independent minibatches and of epochs.

    Args:
        options: the user's choices.
        gradient: the estimator.
        structure: structure of the model.
        limits: what limits the step size, and the dynamics with their friction.
        noise: what was measured of gradient noise.
        share: the largest share of heating that is allowed with independent minibatches.
        temperature: T.
        most: the largest relative error of a variance that noise may cause with epochs.
        caution: factor of the step size; below 1 if larger step sizes have diverged.
        curvatures: the smallest and the largest curvature.
        can_slow: whether noisy directions may be slowed down.
    """
    independent = choose(limits, noise, share, caution, curvatures[0], can_slow)
    if not may_use_epochs(options, gradient, structure):
        return independent
    (plate,) = structure.plates.values()
    # Epochs must gain `LEAST_GAIN`, which they always do compared with a chain that never relaxes.
    endless = independent._replace(relaxation_steps=jnp.asarray(jnp.inf))
    given = temperature, most, caution, curvatures, can_slow
    epochs = in_epochs(plate, limits, noise, endless, *given)
    found = [independent] if epochs is None else [independent, epochs.chosen]
    return min(found, key=lambda one: float(one.relaxation_steps))


def _heating(dynamics: Any, step_size: float, curvatures: np.ndarray, epoch: Epoch) -> float:
    """Return what noise of variance 1 adds to a variance, at most; infinite if unstable."""
    nothing, unit = np.zeros_like(curvatures), np.ones_like(curvatures)
    silent = relative_variance(dynamics, step_size, curvatures, nothing, nothing)
    noisy = relative_variance(dynamics, step_size, curvatures, unit, nothing, epoch=epoch)
    return float(np.max(noisy - silent)) if np.all(np.isfinite(noisy)) else np.inf
