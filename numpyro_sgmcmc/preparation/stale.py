"""What stale gradients ask of a run: a remedy's curvature, and perhaps a smaller step size."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from numpyro_sgmcmc.checks import warn_user
from numpyro_sgmcmc.preconditioner import AbstractLinearMap
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.pace import Need, chosen_steps, pace_of
from numpyro_sgmcmc.preparation.prepared import Adaptation, Prepared
from numpyro_sgmcmc.preparation.thresholds import TOLERANCE
from numpyro_sgmcmc.staleness import (
    AbstractRemedy,
    CurvatureRemedy,
    FrictionRemedy,
    Staleness,
    ageing,
    relative_curvature,
)
from numpyro_sgmcmc.state import Tuned
from numpyro_sgmcmc.stationary import relative_variance

FACTORS = 2.0 ** (-np.arange(49) / 4)
"""Factors of the step size that are tried, down to 1 / 4,096."""


def with_staleness(
    prepared: Prepared, options: Options, dimension: int, num_warmup: int
) -> Prepared:
    """Return what a run with stale gradients starts from.

    The remedy takes its curvature H from the user, else from the Gaussian approximation of the
    warm-up. Without a warm-up it takes H = (S S')^-1 for the user's preconditioner S. If the
    warm-up chose the step size, it is reduced until the ages change the variance of a Gaussian by
    at most half of the warm-up's tolerance, for the typical curvature and for the largest one.

    Raises:
        ValueError: if the curvature is not known, or does not fit the model.
    """
    staleness = options.staleness
    if staleness is None:
        return prepared
    remedy = _remedy(staleness, prepared, options, dimension)
    prepared = prepared._replace(tuned=prepared.tuned._replace(remedy=remedy))
    found = prepared.adaptation
    if found is None or isinstance(found.step_size, Tracer):
        return prepared
    factor = _factor(options, staleness, found, prepared.tuned)
    return prepared if factor == 1 else _slower(prepared, options, found, factor, num_warmup)


def _remedy(
    staleness: Staleness, prepared: Prepared, options: Options, dimension: int
) -> AbstractRemedy | None:
    if staleness.remedy is None:
        return None
    whiten, linear = staleness.whiten, prepared.tuned.preconditioner
    assert isinstance(linear, AbstractLinearMap)
    if whiten is None:
        whiten = _known_whitening(prepared, options)
    else:
        _check_size(whiten, dimension)
    if staleness.remedy == "curvature":
        return CurvatureRemedy(whiten)
    position = jnp.zeros(dimension, jnp.result_type(float))
    curvature = jax.jit(relative_curvature)(whiten, linear, position)
    return FrictionRemedy(curvature, jnp.asarray(staleness.delay.mean, curvature.dtype))


def _known_whitening(prepared: Prepared, options: Options) -> AbstractLinearMap:
    given: Any = options.preconditioner
    known: Any = given
    if prepared.adaptation is not None and prepared.approximation is not None:
        known = prepared.approximation.spread
    if known is None:
        raise ValueError(
            "Expected a `curvature` for the remedy, as the step size is given and no warm-up"
            " estimates one; got None. Pass curvature=... (the Hessian of the potential, or its"
            " diagonal), a preconditioner, or step_size=None."
        )
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(known)):
        raise ValueError(
            "Expected concrete data for a remedy that takes its curvature from the warm-up; got"
            " traced data. Pass curvature=..., or run the kernel outside of jax.jit."
        )
    return known.inverse()


def _check_size(whiten: AbstractLinearMap, dimension: int) -> None:
    """Raise an error if the user's curvature, given as its root, does not fit the model."""
    for leaf in jax.tree.leaves(whiten):
        if leaf.shape not in {(dimension,), (dimension, dimension)}:
            raise ValueError(
                f"Expected `curvature` to fit the model's {dimension} unconstrained parameters, as"
                f" ({dimension},) or ({dimension}, {dimension}); got shape {leaf.shape}."
            )


def _factor(options: Options, staleness: Staleness, found: Adaptation, tuned: Tuned) -> float:
    """Return the largest factor of the step size at which ages change a variance little enough."""
    own = options.dynamics.with_friction(found.friction)
    dynamics, zero = own.linearised(), np.zeros(2)
    curvature = np.array([1.0, max(float(found.curvature), 1.0)])
    aged = ageing(staleness.delay, tuned.remedy, own, curvature, np.ones(2))
    for factor in FACTORS:
        h = float(factor * found.step_size)
        fresh = relative_variance(dynamics, h, curvature, zero, zero)
        old = relative_variance(dynamics, h, curvature, zero, zero, aged)
        if np.all(np.isfinite(old)) and np.all(np.abs(old - fresh) <= TOLERANCE / 2):
            return float(factor)
    return float(FACTORS[-1])


def _slower(
    prepared: Prepared, options: Options, found: Adaptation, factor: float, num_warmup: int
) -> Prepared:
    assert options.staleness is not None and prepared.tuned.step_size is not None
    time = found.autocorrelation_time / factor
    chosen = found.num_steps
    if options.num_steps is None:
        chosen = chosen_steps(options, Need(jnp.asarray(time)))
    tuned = prepared.tuned._replace(step_size=prepared.tuned.step_size * factor)
    if tuned.pace is not None:
        tuned = tuned._replace(pace=pace_of(chosen, num_warmup))
    adaptation = found._replace(
        step_size=found.step_size * factor,
        share=found.share * factor,
        relaxation_steps=found.relaxation_steps / factor,
        num_steps=chosen,
        autocorrelation_time=time,
    )
    if factor < 0.5:
        delay = options.staleness.delay
        other = '"curvature"' if options.staleness.remedy != "curvature" else None
        advice = f"Use remedy={other}, or a shorter delay." if other else "Use a shorter delay."
        warn_user(
            f"Gradients that are {delay.mean:.1f} transitions old on average need a step size"
            f" {1 / factor:.0f} times smaller than fresh ones, and as many times more transitions."
            f" {advice}"
        )
    return prepared._replace(tuned=tuned, adaptation=adaptation)
