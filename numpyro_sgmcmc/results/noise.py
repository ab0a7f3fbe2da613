"""Gradient noise at a run's draws, against the noise that its kernel injects."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.correction import DenseCorrection
from numpyro_sgmcmc.kernels import AbstractKernel
from numpyro_sgmcmc.preparation import with_friction
from numpyro_sgmcmc.verdict import Diagnosis


def gradient_noise(walker: AbstractKernel, state: Any, found: Diagnosis) -> dict[str, np.ndarray]:
    """Return the noise by direction, the noisiest first; nothing where there is none to measure.

    Directions are eigenvectors of the noise's covariance V in the preconditioner's coordinates,
    above 500 dimensions those coordinates themselves. The verdict has measured it.

    Returns:
        `noise_variance`, the eigenvalues of V; `noise_share`, the variance that they add to a step
        over that of its increment; `noise_corrected`, the share that a noise correction takes out
        there. Of the finest walker where there are several.
    """
    noise: Any = found.noise_covariance
    if noise is None or not walker.scheme.is_independent:
        return {}
    variances = np.asarray(noise.variances, np.float64)
    if not np.all(np.isfinite(variances)):
        return {}
    first = state if np.ndim(state.i) == 0 else jax.tree.map(lambda leaf: leaf[0], state)
    dynamics = with_friction(walker.dynamics, first.tuned.friction)
    known = np.zeros_like(variances)
    if first.tuned.correction is not None:
        known = _along(first.tuned.correction, noise)
    order = np.argsort(-variances)
    share = dynamics.heating(jnp.asarray(variances / walker.temperature), found.step_size)
    corrected = dynamics.heating(jnp.asarray(known), found.step_size)
    return {
        "noise_variance": variances[order],
        "noise_share": np.asarray(share, np.float64)[order],
        "noise_corrected": np.clip(np.asarray(corrected), 0.0, 1.0)[order],
    }


def _along(correction: Any, noise: Any) -> np.ndarray:
    """Return what a correction knows of, along the measured noise's directions."""
    variances = np.asarray(correction.variances, np.float64)
    axes = np.eye(len(variances))
    measured = np.asarray(noise.axes) if isinstance(noise, DenseCorrection) else axes
    known = np.asarray(correction.axes) if isinstance(correction, DenseCorrection) else axes
    return (measured.T @ known) ** 2 @ variances
