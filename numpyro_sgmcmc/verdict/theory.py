"""The errors of variances that theory predicts, from measured noise and curvature."""

from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from numpyro_sgmcmc.preparation import CURVATURE_POINTS, Noise, curvature_at
from numpyro_sgmcmc.stationary import balanced, relative_variance
from numpyro_sgmcmc.verdict.ageing import ageing_of
from numpyro_sgmcmc.verdict.fields import Fields
from numpyro_sgmcmc.verdict.gradient_noise import matrix_of, some_draws
from numpyro_sgmcmc.verdict.run import FinishedRun
from numpyro_sgmcmc.verdict.with_latents import conditional


class Directions(NamedTuple):
    """Relative variances by direction.

    Attributes:
        roots: columns whose outer products, summed, are the posterior's covariance, (d, m).
        fresh: reported variance over the exact one with fresh gradients without noise, (m,).
        smooth: with gradients as old as they are, without noise, (m,).
        noisy: with gradient noise, (m,).
    """

    roots: np.ndarray
    fresh: np.ndarray
    smooth: np.ndarray
    noisy: np.ndarray

    def along(self, functions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return relative errors of variances by noise, step size and old gradients, (k,).

        Args:
            functions: linear functions of the position, (k, d).
        """
        exact = (functions @ self.roots) ** 2
        with np.errstate(invalid="ignore"):
            by_noise = exact @ (self.noisy - self.smooth) / exact.sum(1)
            by_step = exact @ self.fresh / exact.sum(1) - 1
            by_age = exact @ (self.smooth - self.fresh) / exact.sum(1)
        return by_noise, by_step, by_age


class Predicted(NamedTuple):
    """Relative errors of the variances that a run reports, (d,); NaN where not known.

    Attributes:
        noise: by gradient noise.
        discretisation: by the step size.
        staleness: by gradients that are some transitions old, with the remedy in force.
        largest_noise: largest eigenvalue V of the gradient noise in the preconditioner's
            coordinates.
        curvature: largest curvature there.
        correction: V as a correction, None where there is no noise to measure.
        directions: the same by direction, None in high dimension.
        bounds: of these errors in any direction, in this order; NaN if unknown.
    """

    noise: np.ndarray
    discretisation: np.ndarray
    staleness: np.ndarray
    largest_noise: float
    curvature: float
    correction: Any
    directions: Directions | None = None
    bounds: tuple[float, float, float] = (np.nan, np.nan, np.nan)


def predicted(run: FinishedRun, fields: Fields, noise: Noise | None, key: jax.Array) -> Predicted:
    """Return what theory predicts for the posterior that has these fields' covariance.

    Args:
        run: what is judged.
        fields: of its draws.
        noise: of its gradients.
        key: of rows and directions.
    """
    flat = run.walkers[0].draws.reshape(-1, run.walkers[0].draws.shape[2])
    linear: Any = run.tuned.preconditioner
    unknown = np.full(flat.shape[1], np.nan)
    if not linear.is_constant:
        return Predicted(unknown, unknown, unknown, np.nan, np.nan, None)
    if run.latents is not None:
        return _given_latents(run, linear, key)
    largest = 0.0 if noise is None else float(noise.largest)
    correction = None if noise is None else noise.correction
    if fields.covariance is None:
        stiffest = _largest_curvature(run, linear, key)
        heating = _heating(run, largest)
        by_step, by_age = _stiffest_errors(run, stiffest)
        bounds = heating, by_step, by_age
        each = np.full(flat.shape[1], heating), unknown, np.full(flat.shape[1], by_age)
        return Predicted(*each, largest, stiffest, correction, bounds=bounds)
    s = matrix_of(linear, len(fields.covariance))
    curvature, axes = np.linalg.eigh(s.T @ fields.curvature() @ s * run.temperature)
    curvature = np.maximum(curvature, 1e-12 * curvature[-1])
    variances = _relative_variances(run, curvature, axes, correction)
    directions = Directions(s @ axes / np.sqrt(curvature), *variances)
    errors = directions.along(np.eye(len(s)))
    return Predicted(*errors, largest, float(curvature[-1]), correction, directions)


def _given_latents(run: FinishedRun, linear: Any, key: jax.Array) -> Predicted:
    """Return bounds of the errors of shared parameters in a model with latents of rows.

    Noise and step size act on the shared parameters given the latents, whose variance is a part of
    their whole variance: the relative errors of the part bound those of the whole.
    """
    assert run.latents is not None
    found = conditional(run.target, key, run.gradient, linear, run.latents)
    largest = float(found.noise.largest)
    heating = _heating(run, largest)
    by_step, _ = _stiffest_errors(run, found.curvature)
    full = partial(np.full, run.walkers[0].draws.shape[2])
    bounds = heating, by_step, 0.0
    each = full(heating), full(by_step), full(0.0)
    return Predicted(*each, largest, found.curvature, found.noise.correction, bounds=bounds)


def _relative_variances(
    run: FinishedRun, curvature: np.ndarray, axes: np.ndarray, noise: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the reported variances over the exact ones, (d,).

    The first are for fresh gradients without noise, the second for gradients as old as they are,
    the third with noise as well. Infinite in the directions in which some walker's recursion does
    not settle.
    """
    silence = np.zeros_like(curvature)
    v = silence if noise is None else noise.along(axes) / run.temperature
    known = silence if run.tuned.correction is None else run.tuned.correction.along(axes)
    smooth = noisy = silence
    for walker in run.walkers:
        h, c = walker.step_size, walker.coefficient
        one = _variance(run, h, curvature, silence, silence)
        other = _variance(run, h, curvature, v, known, epoch=run.epoch)
        settles = np.isfinite(one) & np.isfinite(smooth)
        with np.errstate(invalid="ignore"):
            smooth = np.where(settles, smooth + c * one, np.inf)
            noisy = np.where(settles, noisy + c * other, np.inf)
    ageing = ageing_of(run, curvature, axes)
    if ageing is None:
        return smooth, smooth, noisy
    # Kernels with old gradients have one walker.
    h = run.step_size
    aged = _variance(run, h, curvature, silence, silence, ageing)
    return smooth, aged, _variance(run, h, curvature, v, known, ageing)


def _variance(
    run: FinishedRun,
    step_size: float,
    curvature: np.ndarray,
    noise: np.ndarray,
    corrected: np.ndarray,
    ageing: Any = None,
    epoch: Any = None,
) -> np.ndarray:
    """Return relative variances along all directions, whose mean kinetic energy may be kept."""
    dynamics = run.dynamics.linearised()
    given = step_size, curvature, noise, corrected
    if dynamics is not run.dynamics:
        dynamics, ageing = balanced(dynamics, *given, ageing, epoch)
    return relative_variance(dynamics, *given, ageing, epoch)


def _heating(run: FinishedRun, largest: float) -> float:
    """Return the inflation by the largest noise; unknown if it depends on the direction."""
    if run.tuned.correction is not None or run.epoch is not None:
        return float("nan")
    noise = largest / run.temperature
    return sum(w.coefficient * float(run.dynamics.heating(noise, w.step_size)) for w in run.walkers)


def _stiffest_errors(run: FinishedRun, curvature: float) -> tuple[float, float]:
    """Return the relative errors of the variance in the direction of the largest curvature.

    The first is by the step size, the second by old gradients.
    """
    nothing, stiffest = np.zeros(1), np.array([curvature])
    dynamics = run.dynamics.linearised()
    fresh = sum(
        w.coefficient
        * float(relative_variance(dynamics, w.step_size, stiffest, nothing, nothing)[0])
        for w in run.walkers
    )
    ageing = ageing_of(run, stiffest, None)
    if ageing is None:
        return fresh - 1, 0.0
    old = relative_variance(dynamics, run.step_size, stiffest, nothing, nothing, ageing)
    return fresh - 1, float(old[0]) - fresh


def _largest_curvature(run: FinishedRun, linear: Any, key: jax.Array) -> float:
    """Return the largest curvature at some draws, NaN where none is finite.

    There are as many points as in the warm-up, whose compiled program then serves here.
    """
    points = some_draws(run, CURVATURE_POINTS)
    largest = float(run.target.run(curvature_at, linear, points, key, optimise=False).largest)
    return largest if largest > 0 else float("nan")
