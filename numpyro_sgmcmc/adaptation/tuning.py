"""Sound values for what the user left open: preconditioner, friction, gradient and step size."""

from collections.abc import Sequence
from dataclasses import replace
from math import sqrt
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.core import Tracer

from numpyro_sgmcmc.adaptation.measure import curvatures, gradient_noise
from numpyro_sgmcmc.adaptation.mode import Mode, conditional_scale, principal_axes
from numpyro_sgmcmc.adaptation.target import Target
from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor, FixedPoint, Plain
from numpyro_sgmcmc.preconditioner import AbstractLinearMap, AbstractPreconditioner, Dense, Diagonal

TOLERANCE = 0.1
"""Relative error of a variance that the chosen step size may cause: 5 % of a standard deviation."""

FRICTION = 1.5
"""Friction in units of the square root of the mean curvature: near the fastest relaxation."""

TYPICAL_POINTS = 2


class Tuned(NamedTuple):
    """The numbers a kernel runs with. None: not tuned, given by a schedule or not applicable."""

    step_size: jax.Array | None
    friction: jax.Array | None
    preconditioner: AbstractPreconditioner


class Adaptation(NamedTuple):
    """What was chosen and why, all in the preconditioner's coordinates.

    Attributes:
        gradient: the gradient estimator that was chosen.
        step_size: h.
        friction: D, None for dynamics without.
        curvature: the largest curvature of U found near the mode.
        smallest_curvature: the smallest curvature at the mode, None where it is not known.
        noise: the largest eigenvalue of the gradient noise's covariance at typical points.
        relaxation_steps: transitions in which the slowest mode forgets its start; that of the mean
            curvature where the smallest is not known, which is too optimistic.
    """

    gradient: AbstractGradient
    step_size: jax.Array
    friction: jax.Array | None
    curvature: jax.Array
    smallest_curvature: jax.Array | None
    noise: jax.Array
    relaxation_steps: jax.Array


def laplace_preconditioner(mode: Mode) -> AbstractLinearMap:
    """Return S with S S' the inverse Hessian at the mode, or of its diagonal in high dimension."""
    if not mode.is_dense:
        return Diagonal(conditional_scale(mode.hessian))
    scale, axes = principal_axes(mode.hessian)
    return Dense(axes * scale)


def with_friction(dynamics: Any, friction: Any) -> Any:
    """Return the dynamics with this friction where theirs is open."""
    if getattr(dynamics, "friction", 0.0) is None:
        return replace(dynamics, friction=friction)
    return dynamics


def tune(
    target: Target,
    key: jax.Array,
    dynamics: AbstractDynamics,
    gradients: Sequence[AbstractGradient],
    preconditioner: AbstractLinearMap,
    mode: Mode,
    temperature: float,
) -> Adaptation:
    """Choose the gradient of least noise, the friction, and the largest sound step size.

    Curvature and noise are the largest seen at the mode and at draws of the Gaussian approximation
    there, where a run will spend its time.
    """
    key_points, key_curvature, key_noise = jax.random.split(key, 3)
    points = _typical_points(key_points, mode, preconditioner, temperature)
    largest, mean = zip(
        *(target.run(curvatures, preconditioner, z, key_curvature) for z in points), strict=True
    )
    curvature = _largest_finite(largest)
    friction = suggested_friction(curvature, mean[0], mode.position.size)
    dynamics = with_friction(dynamics, friction)
    gradient, noise = _least_noisy(
        target, key_noise, gradients, preconditioner, mode, points, curvature
    )
    heat = noise / temperature if temperature > 0 else jnp.zeros_like(noise)
    h = dynamics.largest_step_size(curvature, heat, TOLERANCE)
    smallest = _smallest_curvature(mode, preconditioner)
    return Adaptation(
        gradient=gradient,
        step_size=h.astype(mode.position.dtype),
        friction=_as_array(getattr(dynamics, "friction", None), mode.position.dtype),
        curvature=curvature,
        smallest_curvature=smallest,
        noise=noise,
        relaxation_steps=dynamics.relaxation_steps(mean[0] if smallest is None else smallest, h),
    )


def suggested_friction(largest: jax.Array, mean: jax.Array, dimension: int) -> jax.Array:
    """Return D = 1.5 sqrt(mean curvature); the mean lies between largest / d and largest."""
    return FRICTION * jnp.sqrt(jnp.clip(mean, largest / dimension, largest))


def _typical_points(
    key: jax.Array, mode: Mode, preconditioner: AbstractLinearMap, temperature: float
) -> list[jax.Array]:
    laplace = laplace_preconditioner(mode)
    z = mode.position
    noise = sqrt(temperature) * jax.random.normal(key, (TYPICAL_POINTS, z.size), z.dtype)
    return [z, *(z + laplace.apply(one) for one in noise)]


def _smallest_curvature(mode: Mode, preconditioner: AbstractLinearMap) -> jax.Array | None:
    if not mode.is_dense:
        return None
    rows = jax.vmap(preconditioner.transpose)(mode.hessian)
    curvatures = jnp.linalg.eigvalsh(jax.vmap(preconditioner.transpose)(rows.T))
    return jnp.maximum(curvatures[0], jnp.finfo(curvatures.dtype).eps * curvatures[-1])


def _largest_finite(values: Sequence[jax.Array]) -> jax.Array:
    stacked = jnp.stack(list(values))
    return jnp.max(jnp.where(jnp.isfinite(stacked), stacked, 0.0))


def _least_noisy(
    target: Target,
    key: jax.Array,
    gradients: Sequence[AbstractGradient],
    preconditioner: AbstractLinearMap,
    mode: Mode,
    points: Sequence[jax.Array],
    curvature: jax.Array,
) -> tuple[AbstractGradient, jax.Array]:
    if not target.structure.plates and not target.structure.is_random:
        return gradients[0], jnp.zeros_like(curvature)
    best: tuple[AbstractGradient, jax.Array] | None = None
    for gradient in gradients:

        def measure(view: Any, *inputs: Any, gradient: AbstractGradient = gradient) -> jax.Array:
            return gradient_noise(view, gradient, *inputs)

        name = (gradient_noise, type(gradient))
        # Estimators that follow the walker are measured as if they had last seen a typical point.
        inputs = (Anchor(*mode[:3]), points[-1], preconditioner)
        noise = _largest_finite([target.run(measure, *inputs, z, key, name=name) for z in points])
        # A model traced as a whole (MCMC inside jit) has no number to choose by: the first stands.
        # So it does where its noise is below the curvature and does not limit the step size.
        if isinstance(noise, Tracer) or float(noise) <= float(curvature):
            return gradient, noise
        if best is None or float(noise) < float(best[1]):
            best = gradient, noise
    assert best is not None
    return best


def candidate_gradients() -> tuple[AbstractGradient, ...]:
    """Return the estimators to choose from where the user names none, the favourite first."""
    return FixedPoint(), Plain()


def _as_array(value: Any, dtype: Any) -> jax.Array | None:
    return None if value is None else jnp.asarray(value, dtype)
