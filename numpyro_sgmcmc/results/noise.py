"""Gradient noise at a run's draws, against the noise that its kernel injects."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.adaptation import measured_noise, with_friction
from numpyro_sgmcmc.correction import DenseCorrection
from numpyro_sgmcmc.kernels import AbstractKernel, AbstractRichardsonRomberg
from numpyro_sgmcmc.verdict.draws import unconstrained

POINTS = 32
"""Draws at which the noise is measured, and averaged."""


def gradient_noise(
    kernel: AbstractKernel | AbstractRichardsonRomberg,
    state: Any,
    groups: dict[str, dict[str, Any]],
) -> dict[str, np.ndarray]:
    """Return the noise by direction, the noisiest first; nothing where there is none to measure.

    Directions are eigenvectors of the noise's covariance V in the preconditioner's coordinates,
    above 500 dimensions those coordinates themselves.

    Returns:
        `noise_variance`, the eigenvalues of V; `noise_share`, the variance that they add to a step
        over that of its increment; `noise_corrected`, the share that a noise correction takes out
        there. Of the finest walker where there are several.
    """
    walker = kernel.kernel if isinstance(kernel, AbstractRichardsonRomberg) else kernel
    structure = walker.structure
    first = state if np.ndim(state.i) == 0 else jax.tree.map(lambda leaf: leaf[0], state)
    linear: Any = first.tuned.preconditioner
    has_noise = bool(structure.plates) or structure.is_random
    if not (has_noise and linear.is_constant and walker.scheme.is_independent):
        return {}
    if walker.temperature == 0:
        return {}
    dynamics = with_friction(walker.dynamics, first.tuned.friction)
    stats = groups["sample_stats"]
    step_size = float(np.average(stats["step_size"], weights=stats["weight"]))
    if isinstance(kernel, AbstractRichardsonRomberg):
        step_size /= 2 ** (kernel.levels - 1)
    noise: Any = measured_noise(
        walker.target,
        jax.random.key(0),
        walker.prepared.gradient,
        linear,
        walker.prepared.anchor,
        jnp.asarray(_some_draws(walker, groups["posterior"]), jnp.result_type(float)),
    ).correction
    variances = np.asarray(noise.variances, np.float64)
    if not np.all(np.isfinite(variances)):
        return {}
    known = np.zeros_like(variances)
    if first.tuned.correction is not None:
        known = _along(first.tuned.correction, noise)
    order = np.argsort(-variances)
    share = dynamics.heating(jnp.asarray(variances / walker.temperature), step_size)
    corrected = np.clip(np.asarray(dynamics.heating(jnp.asarray(known), step_size)), 0.0, 1.0)
    return {
        "noise_variance": variances[order],
        "noise_share": np.asarray(share, np.float64)[order],
        "noise_corrected": corrected[order],
    }


def _some_draws(walker: AbstractKernel, posterior: dict[str, Any]) -> np.ndarray:
    sites = {name: np.asarray(posterior[name]) for name in walker.structure.prototype}
    flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in sites.items()}
    count = len(next(iter(flat.values())))
    places = np.linspace(0, count - 1, POINTS).round().astype(int)
    return unconstrained(walker.target, {name: value[places] for name, value in flat.items()})


def _along(correction: Any, noise: Any) -> np.ndarray:
    """Return what a correction knows of, along the measured noise's directions."""
    variances = np.asarray(correction.variances, np.float64)
    axes = np.eye(len(variances))
    measured = np.asarray(noise.axes) if isinstance(noise, DenseCorrection) else axes
    known = np.asarray(correction.axes) if isinstance(correction, DenseCorrection) else axes
    return (measured.T @ known) ** 2 @ variances
