"""Gradient noise at a run's draws, against the noise that its kernel injects."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.running import Run
from numpyro_sgmcmc.verdict import Diagnosis


def noise_by_direction(run: Run, found: Diagnosis) -> dict[str, np.ndarray]:
    """Return the noise by direction, the noisiest first; nothing if there is no noise to measure.

    Directions are eigenvectors of the noise's covariance V in the preconditioner's coordinates, and
    above 500 dimensions those coordinates themselves. V is that of the verdict.

    Returns:
        `noise_variance`, the eigenvalues of V; `noise_share`, the variance that they add to a step
        over that of its increment; `noise_corrected`, the share that a noise correction removes
        there. If there are several walkers, they are those of the finest one.
    """
    noise: Any = found.noise_covariance
    if noise is None or not run.options.scheme(run.tuned).is_independent:
        return {}
    variances = noise.along(noise.axes)
    if not np.all(np.isfinite(variances)):
        return {}
    dynamics, correction = run.dynamics, run.tuned.correction
    known = np.zeros_like(variances)
    if correction is not None:
        known = correction.along(noise.axes)
    order = np.argsort(-variances)
    share = dynamics.heating(jnp.asarray(variances / run.options.temperature), found.step_size)
    corrected = dynamics.heating(jnp.asarray(known), found.step_size)
    return {
        "noise_variance": variances[order],
        "noise_share": np.asarray(share, np.float64)[order],
        "noise_corrected": np.clip(np.asarray(corrected), 0.0, 1.0)[order],
    }
