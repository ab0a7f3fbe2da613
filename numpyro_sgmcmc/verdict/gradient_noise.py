"""The gradient noise of a finished run, and the rows that a verdict's own gradients need."""

from typing import Any

import jax
import numpy as np

from numpyro_sgmcmc.correction import DenseCorrection
from numpyro_sgmcmc.preconditioner import Dense
from numpyro_sgmcmc.preparation import Noise, measured_noise, point_count
from numpyro_sgmcmc.verdict.budget import is_dense, most_points, most_rows
from numpyro_sgmcmc.verdict.measurement import spread
from numpyro_sgmcmc.verdict.run import FinishedRun
from numpyro_sgmcmc.verdict.thresholds import SMALL_NOISE


def noise_of(run: FinishedRun, key: jax.Array) -> Noise | None:
    """Return the gradient noise at the draws, None where there is none or none is measured."""
    linear: Any = run.tuned.preconditioner
    if run.latents is not None or not (run.has_gradient_noise and linear.is_constant):
        return None
    # As many points as in the warm-up, whose compiled program then serves here.
    points = some_draws(run, point_count(run.walkers[0].draws.shape[2]))
    return measured_noise(run.target, key, run.gradient, linear, run.anchor, points)


def rows_enough(run: FinishedRun, noise: Noise | None) -> float:
    """Return the rows that leave a gradient's estimate hardly any noise; infinite if not known.

    The estimate has control variates at one point, as the kernel's own gradients have. On a
    Gaussian the gradient of U / T has the covariance C^-1, with the draws' covariance C = R R'. In
    the directions of R its variance is 1, and that of the estimate's noise is R' V R / T^2. It
    falls as 1 / rows where rows are drawn from many.
    """
    is_like = run.gradient.is_control_variate and run.gradient.has_constant_state
    plates = run.target.structure.plates.values()
    correction = None if noise is None else noise.correction
    if not isinstance(correction, DenseCorrection) or len(plates) != 1:
        return np.inf
    if not (is_like and is_dense(run)):
        return np.inf
    ((size, batch),) = plates
    if 2 * batch > size:
        return np.inf
    if most_rows(run, run.weights.size) >= most_points(run, run.weights.size) * run.rows:
        return np.inf  # Gradients are those of all rows.
    draws = run.walkers[0].draws
    places = spread(run.weights.size, most_points(run, run.weights.size))
    flat = draws.reshape(-1, draws.shape[2])[places]
    unit = flat.std(0)
    if not np.all((unit > 0) & np.isfinite(unit)):
        return np.inf
    weights = run.weights.reshape(-1, 1)[places]
    weights = weights / weights.sum()
    centred = (flat - np.sum(weights * flat, axis=0)) / unit * np.sqrt(weights)
    values, vectors = np.linalg.eigh(centred.T @ centred)
    root = unit[:, None] * vectors * np.sqrt(np.maximum(values, 0.0))
    whitened = np.linalg.solve(matrix_of(run.tuned.preconditioner, len(unit)), root)
    axes, variances = (np.asarray(x, np.float64) for x in (correction.axes, correction.variances))
    if not all(np.all(np.isfinite(x)) for x in (variances, axes, whitened)):
        return np.inf  # A gradient overflows somewhere.
    noise_root = np.sqrt(variances)[:, None] * (axes.T @ whitened)
    largest = float(np.linalg.eigvalsh(noise_root.T @ noise_root)[-1])
    found = largest / run.temperature**2 * batch / SMALL_NOISE
    return max(found, batch) if np.isfinite(found) else np.inf


def matrix_of(linear: Any, dimension: int) -> np.ndarray:
    """Return a linear map as a matrix, (d, d)."""
    if isinstance(linear, Dense):
        return np.asarray(linear.factor, np.float64)
    basis = np.eye(dimension, dtype=jax.dtypes.canonicalize_dtype(np.float64))
    return np.asarray(jax.jit(jax.vmap(linear.apply))(basis), np.float64).T


def some_draws(run: FinishedRun, count: int) -> np.ndarray:
    """Return some of the draws, (count, d), in the type of the model's parameters."""
    flat = run.walkers[0].draws.reshape(-1, run.walkers[0].draws.shape[2])
    return flat[spread(len(flat), count)].astype(run.dtype)
