"""Slowing down the directions in which gradient noise is too large, and no others.

Gradient noise of variance v adds the share h v / (2 D) to the variance of a step. If it exceeds
what is allowed, y is scaled down by sqrt(most / v) in that direction, where `most` is the largest
variance that is allowed there at the step size h. The walker then relaxes v / most times as slowly
there, as it would everywhere with a step size that is smaller by this factor.

A correction that takes out the share s with a relative error r of v leaves s r of the variance. It
is allowed the share at which this is half of the tolerance, so that two standard errors are within
the tolerance. Directions that few rows determine have a large r.
"""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.correction import (
    AbstractCorrection,
    CoupledCorrection,
    DenseCorrection,
    DiagonalCorrection,
)
from numpyro_sgmcmc.preconditioner import AbstractLinearMap, Coupled, Dense, Diagonal
from numpyro_sgmcmc.preparation.noise import Noise
from numpyro_sgmcmc.preparation.thresholds import TOLERANCE


def allowed(noise: Noise, largest: jax.Array, unit_share: Any) -> AbstractCorrection:
    """Return the largest variance that noise may have in each direction, as a correction's form.

    Args:
        noise: measured noise.
        largest: the largest variance in any direction.
        unit_share: share of heating by noise of variance 1, if it is taken out; else 0.
    """
    correction = noise.correction
    if noise.error is None:
        return _with(correction, [jnp.full_like(v, largest) for v in _parts(correction)])
    tiny = jnp.finfo(jnp.asarray(largest).dtype).tiny
    known = [TOLERANCE / 2 / jnp.maximum(unit_share * r, tiny) for r in _parts(noise.error)]
    return _with(correction, [jnp.minimum(largest, each) for each in known])


def share_of_all(noise: Noise) -> jax.Array:
    """Return the share of the loudest direction at which every direction has its allowed share.

    It limits the step size where directions cannot be slowed down.
    """
    if noise.error is None:
        return jnp.full_like(noise.largest, jnp.inf)
    pairs = zip(_parts(noise.correction), _parts(noise.error), strict=True)
    worst = jnp.max(jnp.stack([jnp.max(v * r) for v, r in pairs]))
    return TOLERANCE / 2 * noise.largest / jnp.maximum(worst, jnp.finfo(worst.dtype).tiny)


def slowest(noise: AbstractCorrection, most: AbstractCorrection) -> jax.Array:
    """Return the smallest factor of the speed of a direction, at most 1."""
    pairs = zip(_parts(noise), _parts(most), strict=True)
    return jnp.min(jnp.stack([jnp.min(_factors(v, limit)) ** 2 for v, limit in pairs]))


def slowed(
    linear: AbstractLinearMap, noise: AbstractCorrection, most: AbstractCorrection
) -> tuple[AbstractLinearMap, AbstractCorrection]:
    """Return the map S K and K'VK, for the noise V in the coordinates of S.

    K'VK is at most `most` in each direction of V, and K is the identity up to a rotation where V
    is.

    Raises:
        TypeError: if the noise was not measured in the directions of the map.
    """
    parts, limits = _parts(noise), _parts(most)
    factors = [_factors(v, limit) for v, limit in zip(parts, limits, strict=True)]
    quiet = _with(noise, [jnp.minimum(v, limit) for v, limit in zip(parts, limits, strict=True)])
    if isinstance(linear, Dense) and isinstance(noise, DenseCorrection):
        return Dense(linear.factor @ (noise.axes * factors[0])), DiagonalCorrection(*_parts(quiet))
    if isinstance(linear, Diagonal) and isinstance(noise, DiagonalCorrection):
        return Diagonal(linear.scale * factors[0]), quiet
    if isinstance(linear, Coupled) and isinstance(quiet, CoupledCorrection):
        outside, inside = factors
        unturned = jnp.eye(len(quiet.inside), dtype=quiet.inside.dtype)
        factor = linear.factor @ (quiet.inside_axes * inside)
        slower = replace(linear, factor=factor, inner=linear.inner * outside)
        return slower, replace(quiet, inside_axes=unturned)
    raise TypeError(
        f"Expected noise that was measured in the directions of {type(linear).__name__}; got"
        f" {type(noise).__name__}."
    )


def _parts(correction: AbstractCorrection) -> list[jax.Array]:
    if isinstance(correction, CoupledCorrection):
        return [correction.outside, correction.inside]
    assert isinstance(correction, DenseCorrection | DiagonalCorrection)
    return [correction.variances]


def _with(correction: AbstractCorrection, parts: list[jax.Array]) -> AbstractCorrection:
    if isinstance(correction, CoupledCorrection):
        return replace(correction, outside=parts[0], inside=parts[1])
    assert isinstance(correction, DenseCorrection | DiagonalCorrection)
    return replace(correction, variances=parts[0])


def _factors(variances: jax.Array, most: jax.Array) -> jax.Array:
    noisy = variances > most
    return jnp.where(noisy, jnp.sqrt(most / jnp.where(noisy, variances, 1.0)), 1.0)
