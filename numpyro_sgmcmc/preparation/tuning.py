"""Choice of the settings that the user left open: gradient, friction, correction, step size."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import Tracer

from numpyro_sgmcmc.correction import AbstractCorrection, DiagonalCorrection
from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor
from numpyro_sgmcmc.identity import identity_of
from numpyro_sgmcmc.preconditioner import AbstractLinearMap
from numpyro_sgmcmc.preparation.kinks import typical_curvature
from numpyro_sgmcmc.preparation.limits import choose, limits_of
from numpyro_sgmcmc.preparation.measure import Curvature, Noise, gradient_noise
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.prepared import Adaptation
from numpyro_sgmcmc.preparation.target import Target, View
from numpyro_sgmcmc.preparation.thresholds import (
    CORRECTED_SHARE,
    CURVATURE_POINTS,
    DENSE_NOISE,
    TOLERANCE,
)


def choose_numbers(
    target: Target,
    key: jax.Array,
    options: Options,
    gradients: Sequence[AbstractGradient],
    preconditioner: AbstractLinearMap,
    anchor: Anchor,
    points: jax.Array,
    smallest_curvature: jax.Array | None = None,
    caution: float = 1.0,
) -> Adaptation:
    """Choose a gradient estimator, the friction, and the largest step size within tolerance.

    Args:
        target: the model bound to its data.
        key: key of the measurements.
        options: the user's choices.
        gradients: estimators to choose from, the preferred one first.
        preconditioner: the map that the kernel runs with.
        anchor: the fixed point of estimators that need one.
        points: positions typical of the posterior, (points, d).
        smallest_curvature: in the preconditioner's coordinates; None if it is not known.
        caution: factor of the step size; below 1 if larger step sizes have diverged.
    """
    key_curvature, key_noise = random.keys_of(key, 2)
    temperature = options.temperature
    some = points[:: max(1, len(points) // CURVATURE_POINTS)]
    curvature, mean = typical_curvature(target, preconditioner, some, key_curvature)
    gradient, noise = _least_noisy(
        target, key_noise, gradients, preconditioner, anchor, points, curvature
    )
    limits = limits_of(
        options.dynamics, Curvature(curvature, mean), noise.largest, points.shape[1], temperature
    )
    correction = None
    if target.minibatch.is_independent:
        correction = _correction(options, noise, limits.share)
    most = TOLERANCE / 2 if correction is None else CORRECTED_SHARE
    slowest = mean if smallest_curvature is None else smallest_curvature
    chosen = choose(limits, most, caution, slowest)
    return Adaptation(
        gradient=gradient,
        step_size=chosen.step_size.astype(points.dtype),
        friction=limits.dynamics.friction,
        curvature=curvature,
        smallest_curvature=smallest_curvature,
        noise=noise.largest,
        share=chosen.share,
        correction=correction,
        relaxation_steps=chosen.relaxation_steps,
        batch_factor=chosen.batch_factor,
    )


def as_correction(kind: str, noise: Noise, temperature: float) -> AbstractCorrection:
    """Return a correction of this kind for the measured noise.

    A diagonal correction is the diagonal of the dense one if the noise is dense.

    Raises:
        ValueError: if a dense correction was not measured because the dimension is too high.
    """
    if kind == "diagonal":
        return noise.correction.diagonal().at_temperature(temperature)
    if noise.correction.axes is None:
        raise ValueError(
            f"Expected at most {DENSE_NOISE} parameters with a dense noise correction;"
            f' got {noise.correction.variances.size}. Use noise_correction="diagonal".'
        )
    return noise.correction.at_temperature(temperature)


def _correction(options: Options, noise: Noise, share: jax.Array) -> AbstractCorrection | None:
    kind = options.noise_correction
    silent = not isinstance(share, Tracer) and float(noise.largest) == 0
    if kind is False or options.temperature == 0 or silent:
        return None
    if kind is None:
        needless = isinstance(share, Tracer) or float(share) <= TOLERANCE / 2
        if needless or noise.correction.axes is None:
            return None
        kind = "dense"
    assert isinstance(kind, str)
    return as_correction(kind, noise, options.temperature)


def _least_noisy(
    target: Target,
    key: jax.Array,
    gradients: Sequence[AbstractGradient],
    preconditioner: AbstractLinearMap,
    anchor: Anchor,
    points: jax.Array,
    curvature: jax.Array,
) -> tuple[AbstractGradient, Noise]:
    if not target.structure.plates and not target.structure.is_random:
        zero = jnp.zeros(points.shape[1], points.dtype)
        return gradients[0], Noise(jnp.zeros_like(curvature), DiagonalCorrection(zero))
    best: tuple[AbstractGradient, Noise] | None = None
    for gradient in gradients:
        # All estimators share the key, so that they are compared on the same minibatches.
        noise = measured_noise(target, key, gradient, preconditioner, anchor, points)
        # If the noise is below the curvature, it does not limit the step size, and this estimator
        # is chosen. It is also chosen while JAX is tracing (MCMC inside jit), when the noise is not
        # known.
        if isinstance(noise.largest, Tracer) or float(noise.largest) <= float(curvature):
            return gradient, noise
        if best is None or float(noise.largest) < float(best[1].largest):
            best = gradient, noise
    assert best is not None
    return best


def measured_noise(
    target: Target,
    key: jax.Array,
    gradient: AbstractGradient,
    preconditioner: AbstractLinearMap,
    anchor: Anchor | None,
    points: jax.Array,
) -> Noise:
    """Return an estimator's gradient noise at typical points, in whitened coordinates."""
    measure, name = noise_program(gradient)
    return target.run(measure, anchor, preconditioner, points, key, name=name)


def noise_program(gradient: AbstractGradient) -> tuple[Callable, Any]:
    """Return the program of `measured_noise` and its name.

    The program takes an anchor, a preconditioner, points and a key.
    """

    def measure(view: View, anchor: Any, linear: Any, points: jax.Array, key: jax.Array) -> Noise:
        # The state of an estimator that follows the walker is taken at a typical point.
        return gradient_noise(view, gradient, anchor, points[-1], linear, points, key)

    return measure, (gradient_noise, identity_of(gradient))
