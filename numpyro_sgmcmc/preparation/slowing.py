"""Slowing down the directions in which gradient noise is too large, and no others.

Gradient noise of variance v adds the share h v / (2 D) to the variance of a step. If it exceeds
what is allowed, y is scaled down by sqrt(largest / v) in that direction, where `largest` is the
largest variance that is allowed at the step size h. The walker then relaxes v / largest times as
slowly there, as it would everywhere with a step size that is smaller by this factor.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.correction import (
    AbstractCorrection,
    CoupledCorrection,
    DenseCorrection,
    DiagonalCorrection,
)
from numpyro_sgmcmc.preconditioner import AbstractLinearMap, Coupled, Dense, Diagonal


def slowed(
    linear: AbstractLinearMap, noise: AbstractCorrection, largest: jax.Array
) -> tuple[AbstractLinearMap, AbstractCorrection]:
    """Return the map S K with K'VK <= largest, and K'VK, for the noise V in the coordinates of S.

    K is the identity up to a rotation where V is at most `largest`.

    Raises:
        TypeError: if the noise was not measured in the directions of the map.
    """
    if isinstance(linear, Dense) and isinstance(noise, DenseCorrection):
        factor = linear.factor @ (noise.axes * _factors(noise.variances, largest))
        return Dense(factor), DiagonalCorrection(jnp.minimum(noise.variances, largest))
    if isinstance(linear, Diagonal) and isinstance(noise, DiagonalCorrection):
        scale = linear.scale * _factors(noise.variances, largest)
        return Diagonal(scale), DiagonalCorrection(jnp.minimum(noise.variances, largest))
    if isinstance(linear, Coupled) and isinstance(noise, CoupledCorrection):
        inside = noise.inside_axes * _factors(noise.inside, largest)
        inner = linear.inner * _factors(noise.outside, largest)
        quiet = replace(
            noise,
            outside=jnp.minimum(noise.outside, largest),
            inside=jnp.minimum(noise.inside, largest),
            inside_axes=jnp.eye(len(noise.inside), dtype=noise.inside.dtype),
        )
        return replace(linear, factor=linear.factor @ inside, inner=inner), quiet
    raise TypeError(
        f"Expected noise that was measured in the directions of {type(linear).__name__}; got"
        f" {type(noise).__name__}."
    )


def _factors(variances: jax.Array, largest: jax.Array) -> jax.Array:
    noisy = variances > largest
    return jnp.where(noisy, jnp.sqrt(largest / jnp.where(noisy, variances, 1.0)), 1.0)
