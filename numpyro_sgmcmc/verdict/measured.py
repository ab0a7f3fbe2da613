"""What the draws and the potential's gradients at them say of a run's bias."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.correction import AbstractCorrection, DenseCorrection, DiagonalCorrection
from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.gradient import AbstractGradient, Anchor
from numpyro_sgmcmc.preparation import Target, measured_noise
from numpyro_sgmcmc.state import Tuned
from numpyro_sgmcmc.verdict.bootstrap import discrepancy
from numpyro_sgmcmc.verdict.draws import gradients
from numpyro_sgmcmc.verdict.law import relative_variance

DENSE = 300
"""Up to this dimension the posterior's whole covariance is compared."""

DRAWS_FOR_NOISE = 32
DRAWS_FOR_STEIN = 400


class Run(NamedTuple):
    """A finished run, as far as its bias is concerned.

    Attributes:
        target: the model bound to its data.
        dynamics: with their friction.
        gradient: the estimator.
        anchor: its anchor, None without.
        tuned: preconditioner and correction.
        step_size: mean step size, weighted.
        temperature: T.
        draws: unconstrained, (chains, draws, d).
        weights: of the draws, (chains, draws).
    """

    target: Target
    dynamics: AbstractDynamics
    gradient: AbstractGradient
    anchor: Anchor | None
    tuned: Tuned
    step_size: float
    temperature: float
    draws: np.ndarray
    weights: np.ndarray


class Measured(NamedTuple):
    """Relative errors of each coordinate's variance and mean, (d,); NaN where not known.

    Attributes:
        noise_inflation: by gradient noise, of the variance; from theory, with measured noise.
        discretisation: by the step size, of the variance; from theory, with measured curvature.
        inflation: of the variance, by whatever cause: the draws' variance over the one that the
            gradients at the draws ask for.
        shift: of the mean, in standard deviations, likewise.
        noise: largest eigenvalue V of the gradient noise in the preconditioner's coordinates.
        curvature: largest curvature there.
        discrepancy: kernel Stein discrepancy of whitened draws.
        p_value: of that discrepancy.
        noise_covariance: V by its eigenvalues and axes (above 500 dimensions its diagonal), None
            where there is none to measure.
    """

    noise_inflation: np.ndarray
    discretisation: np.ndarray
    inflation: np.ndarray
    shift: np.ndarray
    noise: float
    curvature: float
    discrepancy: float
    p_value: float
    noise_covariance: AbstractCorrection | None = None


def measure(run: Run, key: jax.Array) -> Measured:
    """Return a run's estimated bias.

    On any density Stein's identity E[(z - m) grad U'] = T I holds, and E[grad U] = 0. Regressed on
    the draws, the gradients give the Hessian H that a Gaussian of this density has, without
    sampling error where the density is one, and the mean at which they vanish: T H^-1 against the
    draws' own covariance is the inflation, whatever its cause.
    """
    key_gradients, key_noise = jax.random.split(key)
    flat = run.draws.reshape(-1, run.draws.shape[-1])
    if not np.all(np.isfinite(flat)):  # an underflow on the constrained space, say
        return _unknown(flat.shape[1])
    weights = run.weights.reshape(-1) / run.weights.sum()
    mean = weights @ flat
    dimension = flat.shape[1]
    is_dense = dimension <= DENSE and len(flat) >= 4 * dimension
    used = flat[_spread(len(flat), max(2 * DRAWS_FOR_STEIN, 6 * dimension if is_dense else 0))]
    dtype = ravel_dtype(run.target)
    found, _ = gradients(
        run.target, key_gradients, jnp.asarray(used, dtype), jnp.asarray(mean, dtype)
    )
    centred = (flat - mean) * np.sqrt(weights)[:, None]
    covariance = centred.T @ centred if is_dense else np.sum(centred**2, axis=0)
    points = jnp.asarray(used[_spread(len(used), DRAWS_FOR_NOISE)], dtype)
    noise = _noise(run, key_noise, points)
    judge = _dense if is_dense else _diagonal
    measured = judge(run, used - mean, found, covariance, noise)
    return measured._replace(noise_covariance=None if noise is None else noise.correction)


def ravel_dtype(target: Target) -> Any:
    """Return the dtype of flat positions."""
    return jnp.result_type(*jax.tree.leaves(target.structure.prototype))


def _noise(run: Run, key: jax.Array, points: jax.Array) -> Any:
    structure = run.target.structure
    if not structure.plates and not structure.is_random:
        return None
    linear: Any = run.tuned.preconditioner
    if not linear.is_constant:
        return None
    return measured_noise(run.target, key, run.gradient, linear, run.anchor, points)


def _dense(
    run: Run, z: np.ndarray, found: np.ndarray, covariance: np.ndarray, noise: Any
) -> Measured:
    scale = np.sqrt(np.diag(covariance))
    if not (np.all(np.isfinite(found)) and np.all(scale > 0)):
        return _unknown(len(scale))
    correlation = covariance / np.outer(scale, scale)
    root = scale[:, None] * np.linalg.cholesky(correlation + 1e-9 * np.eye(len(scale)))
    y = np.linalg.solve(root, z.T).T
    slopes = found @ root  # the gradient in y
    design = np.column_stack([np.ones(len(y)), y])
    fitted = np.linalg.lstsq(design, slopes, rcond=None)[0]
    hessian = (fitted[1:] + fitted[1:].T) / 2 / run.temperature
    curvatures, axes = np.linalg.eigh(hessian)
    p = discrepancy(*_thinned(y, slopes / run.temperature))
    if curvatures[0] <= 0:
        return _unknown(len(scale))._replace(discrepancy=p[0], p_value=p[1])
    inverse = (axes / curvatures) @ axes.T
    wanted = np.einsum("ij,jk,ik->i", root, inverse, root)
    shift = root @ inverse @ fitted[0] / run.temperature / scale
    noise_inflation, discretisation, largest, curvature = _theory(run, root, hessian, noise)
    return Measured(
        noise_inflation=noise_inflation,
        discretisation=discretisation,
        inflation=scale**2 / wanted - 1,
        shift=shift,
        noise=largest,
        curvature=curvature,
        discrepancy=p[0],
        p_value=p[1],
    )


def _theory(
    run: Run, root: np.ndarray, whitened: np.ndarray, noise: Any
) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Return the relative inflation by noise and by the step size of each coordinate."""
    dimension = len(root)
    nothing = np.full(dimension, np.nan)
    linear: Any = run.tuned.preconditioner
    if not linear.is_constant:
        return nothing, nothing, np.nan, np.nan
    eye = jnp.eye(dimension, dtype=ravel_dtype(run.target))
    s = np.asarray(jax.vmap(linear.apply)(eye), np.float64).T
    into = np.linalg.solve(root, s)
    hessian = into.T @ whitened @ into * run.temperature
    curvature, axes = np.linalg.eigh(hessian)
    curvature = np.maximum(curvature, 1e-12 * curvature[-1])
    silence = np.zeros(dimension)
    v = silence if noise is None else _along(noise.correction, axes) / run.temperature
    correction = run.tuned.correction
    corrected = silence if correction is None else _along(correction, axes)
    dynamics = run.dynamics.linearised()
    exact = (s @ axes) ** 2 / curvature
    smooth = relative_variance(dynamics, run.step_size, curvature, silence, silence)
    noisy = relative_variance(dynamics, run.step_size, curvature, v, corrected)
    with np.errstate(invalid="ignore"):
        variance = exact @ smooth
        heated = exact @ noisy / variance - 1
    largest = 0.0 if noise is None else float(noise.largest)
    return heated, variance / exact.sum(1) - 1, largest, float(curvature[-1])


def _along(correction: Any, axes: np.ndarray) -> np.ndarray:
    """Return the variances of a covariance along orthonormal axes."""
    variances = np.asarray(correction.variances, np.float64)
    if isinstance(correction, DiagonalCorrection):
        return (axes**2).T @ variances
    assert isinstance(correction, DenseCorrection)
    return (axes.T @ np.asarray(correction.axes, np.float64)) ** 2 @ variances


def _diagonal(
    run: Run, z: np.ndarray, found: np.ndarray, variance: np.ndarray, noise: Any
) -> Measured:
    """Return what is known without a covariance: Stein's identity by coordinate, and on average."""
    if not np.all(np.isfinite(found)):
        return _unknown(len(variance))
    scale = np.sqrt(np.maximum(variance, 1e-30))
    average = np.mean(np.sum(z * found, axis=1)) / run.temperature / len(scale) - 1
    heated = np.nan
    largest = 0.0 if noise is None else float(noise.largest)
    if run.tuned.correction is None:
        heated = float(run.dynamics.heating(largest / run.temperature, run.step_size))
    everywhere = np.ones(len(scale))
    p = discrepancy(*_thinned(z / scale, found * scale / run.temperature))
    return _unknown(len(scale))._replace(
        noise_inflation=heated * everywhere,
        inflation=average * everywhere,
        noise=largest,
        discrepancy=p[0],
        p_value=p[1],
    )


def _unknown(dimension: int) -> Measured:
    nothing = np.full(dimension, np.nan)
    return Measured(nothing, nothing, nothing, nothing, np.nan, np.nan, np.nan, np.nan)


def _thinned(y: np.ndarray, slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    places = _spread(len(y), DRAWS_FOR_STEIN)
    return y[places], slopes[places]


def _spread(length: int, count: int) -> np.ndarray:
    """Return at most `count` places spread evenly over a length."""
    return np.unique(np.linspace(0, length - 1, min(count, length)).round().astype(int))


def run_of(finished: Any, draws: np.ndarray, weights: np.ndarray, h: np.ndarray) -> Run:
    """Return a finished run."""
    return Run(
        target=finished.target,
        dynamics=finished.dynamics,
        gradient=finished.tuned.gradient,
        anchor=finished.anchor,
        tuned=finished.tuned,
        step_size=float(np.average(h, weights=weights)),
        temperature=finished.options.temperature,
        draws=draws,
        weights=weights,
    )
