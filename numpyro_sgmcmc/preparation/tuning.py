"""Sound values for what the user left open: friction, gradient, noise correction, step size."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.core import Tracer

from numpyro_sgmcmc.correction import AbstractCorrection, DenseCorrection, DiagonalCorrection
from numpyro_sgmcmc.cpu import threefry
from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor, FixedPoint, Plain
from numpyro_sgmcmc.preconditioner import AbstractLinearMap, AbstractPreconditioner
from numpyro_sgmcmc.preparation.limits import TOLERANCE, choose, limits_of
from numpyro_sgmcmc.preparation.measure import (
    DENSE_NOISE,
    Curvature,
    Noise,
    curvatures,
    gradient_noise,
)
from numpyro_sgmcmc.preparation.target import Target, View

CORRECTED_SHARE = 0.3
"""Largest share of the increment that gradient noise may stand for under a noise correction: that
share's own relative error, from its measurement, then is what reaches the variance."""

ADVISED_FROM = 2.0
"""Times the minibatch from which on a larger one is advised."""

CURVATURE_POINTS = 4


class Tuned(NamedTuple):
    """The numbers a kernel runs with. None: not tuned, given by a schedule or not applicable."""

    step_size: jax.Array | None
    friction: jax.Array | None
    preconditioner: AbstractPreconditioner
    correction: AbstractCorrection | None = None


class Adaptation(NamedTuple):
    """What was chosen and why, all in the preconditioner's coordinates.

    Attributes:
        gradient: the gradient estimator that was chosen.
        step_size: h.
        friction: D, None for dynamics without.
        curvature: the largest curvature of U found near the mode.
        smallest_curvature: the smallest curvature there, None where it is not known.
        noise: the largest eigenvalue V of the gradient noise's covariance at typical points.
        share: heating by that noise as a share of the increment, h V / (2 D) (Langevin: h V / 2).
        correction: the noise correction in use, None without.
        relaxation_steps: transitions in which the slowest mode forgets its start; that of the mean
            curvature where the smallest is not known, which is too optimistic.
        batch_factor: how many times as large minibatches would have to be for their noise not to
            limit the step size; 1 where it does not.
        windows: warm-up windows that preconditioner and anchor come from; 0 where those are of a
            Gaussian approximation at the mode.
    """

    gradient: AbstractGradient
    step_size: jax.Array
    friction: jax.Array | None
    curvature: jax.Array
    smallest_curvature: jax.Array | None
    noise: jax.Array
    share: jax.Array
    correction: AbstractCorrection | None
    relaxation_steps: jax.Array
    batch_factor: jax.Array
    windows: int = 0

    def __str__(self) -> str:
        """Return what was chosen and why, in one line."""
        friction = "" if self.friction is None else f", friction {float(self.friction):.3g}"
        advice = ""
        if float(self.batch_factor) > ADVISED_FROM:
            advice = (
                f" Noise limits the step size: minibatches {float(self.batch_factor):.0f} times as"
                " large would let it be as many times larger."
            )
        taken = "left in" if self.correction is None else "taken out of the injected noise"
        return (
            f"{type(self.gradient).__name__} gradient, step size {float(self.step_size):.3g}"
            f"{friction}: curvature {float(self.curvature):.3g}, gradient noise"
            f" {float(self.noise):.3g} in whitened units, {float(self.share):.1%} of the injected"
            f" noise, {taken}; about {float(self.relaxation_steps):,.0f} transitions for an"
            f" independent draw; {self.windows} windows.{advice}"
        )


class Wishes(NamedTuple):
    """What a user chose of what is tuned here.

    Attributes:
        dynamics: with or without its friction.
        gradients: estimators to choose from, the favourite first.
        noise_correction: "diagonal", "dense", False for none, or None: where noise limits h.
        temperature: T.
    """

    dynamics: AbstractDynamics
    gradients: Sequence[AbstractGradient]
    noise_correction: str | bool | None
    temperature: float


def tune(
    target: Target,
    key: jax.Array,
    wishes: Wishes,
    preconditioner: AbstractLinearMap,
    anchor: Anchor,
    points: jax.Array,
    smallest_curvature: jax.Array | None = None,
    caution: float = 1.0,
) -> Adaptation:
    """Choose the gradient of least noise, the friction, and the largest sound step size.

    Args:
        target: the model bound to its data.
        key: key of the measurements.
        wishes: what the user chose.
        preconditioner: the map that the kernel runs with.
        anchor: the fixed point of estimators that need one.
        points: positions where a run will spend its time, (points, d).
        smallest_curvature: in the preconditioner's coordinates, where it is known.
        caution: multiplies the step size; below 1 where larger ones were seen to diverge.
    """
    key_curvature, key_noise = threefry.keys_of(key, 2)
    temperature = wishes.temperature
    some = points[:: max(1, len(points) // CURVATURE_POINTS)]
    curvature, mean = target.run(curvature_at, preconditioner, some, key_curvature, brief=True)
    gradient, noise = _least_noisy(
        target, key_noise, wishes.gradients, preconditioner, anchor, points, curvature
    )
    limits = limits_of(
        wishes.dynamics, Curvature(curvature, mean), noise.largest, points.shape[1], temperature
    )
    correction = None
    if target.minibatch.is_independent:
        correction = _correction(wishes, noise, limits.share)
    most = TOLERANCE / 2 if correction is None else CORRECTED_SHARE
    slowest = mean if smallest_curvature is None else smallest_curvature
    chosen = choose(limits, most, caution, slowest)
    return Adaptation(
        gradient=gradient,
        step_size=chosen.step_size.astype(points.dtype),
        friction=getattr(limits.dynamics, "friction", None),
        curvature=curvature,
        smallest_curvature=smallest_curvature,
        noise=noise.largest,
        share=chosen.share,
        correction=correction,
        relaxation_steps=chosen.relaxation_steps,
        batch_factor=chosen.batch_factor,
    )


def as_correction(kind: str, noise: Noise, temperature: float) -> AbstractCorrection:
    """Return measured noise as a correction of this kind; a diagonal is taken of a dense one.

    Raises:
        ValueError: where a dense one was not measured, in high dimension.
    """
    found = noise.correction
    if isinstance(found, DenseCorrection) and kind == "dense":
        return DenseCorrection(found.variances / temperature, found.axes)
    if isinstance(found, DenseCorrection):
        return DiagonalCorrection(found.axes**2 @ found.variances / temperature)
    assert isinstance(found, DiagonalCorrection)
    if kind == "dense":
        raise ValueError(
            f"Expected at most {DENSE_NOISE} parameters with a dense noise correction;"
            f' got {found.variances.size}. Use noise_correction="diagonal".'
        )
    return DiagonalCorrection(found.variances / temperature)


def candidate_gradients() -> tuple[AbstractGradient, ...]:
    """Return the estimators to choose from where the user names none, the favourite first."""
    return FixedPoint(), Plain()


def curvature_at(
    view: View, preconditioner: AbstractLinearMap, points: jax.Array, key: jax.Array
) -> Curvature:
    """Return the largest curvature at any of the points, and the mean one."""

    def one(inputs: tuple[jax.Array, jax.Array]) -> Curvature:
        return curvatures(view, preconditioner, *inputs)

    found = jax.lax.map(one, (points, threefry.split(key, len(points))))
    finite = jnp.where(jnp.isfinite(found.largest), found.largest, 0.0)
    mean = jnp.where(jnp.isfinite(found.mean), found.mean, 0.0)
    return Curvature(jnp.max(finite), jnp.mean(mean))


def _correction(wishes: Wishes, noise: Noise, share: jax.Array) -> AbstractCorrection | None:
    kind = wishes.noise_correction
    silent = not isinstance(share, Tracer) and float(noise.largest) == 0
    if kind is False or wishes.temperature == 0 or silent:
        return None
    if kind is None:
        needless = isinstance(share, Tracer) or float(share) <= TOLERANCE / 2
        if needless or not isinstance(noise.correction, DenseCorrection):
            return None
        kind = "dense"
    assert isinstance(kind, str)
    return as_correction(kind, noise, wishes.temperature)


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
        # One key for all: estimators are compared on the same minibatches.
        noise = measured_noise(target, key, gradient, preconditioner, anchor, points)
        # A model traced as a whole (MCMC inside jit) has no number to choose by: the first stands.
        # So it does where its noise is below the curvature and does not limit the step size.
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
    """Return the gradient noise of an estimator, at typical points and in whitened coordinates."""
    measure, name = noise_program(gradient)
    return target.run(measure, anchor, preconditioner, points, key, name=name)


def noise_program(gradient: AbstractGradient) -> tuple[Callable, Any]:
    """Return what `measured_noise` runs on (anchor, preconditioner, points, key), and its name."""

    def measure(view: View, anchor: Any, linear: Any, points: jax.Array, key: jax.Array) -> Noise:
        # Estimators that follow the walker are measured as if they had last seen a typical point.
        return gradient_noise(view, gradient, anchor, points[-1], linear, points, key)

    return measure, (gradient_noise, type(gradient))
