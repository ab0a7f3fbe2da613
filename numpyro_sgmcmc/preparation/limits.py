"""The largest step size that curvature and gradient noise allow, and a suitable friction."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.preparation.kinks import Typical
from numpyro_sgmcmc.preparation.noise import Noise
from numpyro_sgmcmc.preparation.thresholds import FRICTION, TOLERANCE


class Limits(NamedTuple):
    """What limits the step size h.

    Attributes:
        dynamics: the dynamics with their friction.
        unit_heat: heating by gradient noise at h = 1, as a share of the temperature.
        smooth: the largest h that curvature allows.
        share: heating at that h.
    """

    dynamics: Any
    unit_heat: jax.Array
    smooth: jax.Array
    share: jax.Array


class Chosen(NamedTuple):
    """The values of `Adaptation` that follow from the limits.

    Attributes:
        largest_noise: the largest variance that gradient noise may have at this step size, as a
            share of the largest that was measured; at most 1.
    """

    step_size: jax.Array
    share: jax.Array
    relaxation_steps: jax.Array
    batch_factor: jax.Array
    largest_noise: jax.Array


# Compiled as a whole, because compiling each scalar operation alone takes longer.
@partial(jax.jit, static_argnames=("dimension", "temperature"))
def limits_of(
    dynamics: Any, curvature: Typical, noise: jax.Array, dimension: int, temperature: float
) -> Limits:
    """Return the limits that curvature and gradient noise set, and dynamics with a friction.

    Splitting conserves an energy with the kinetic part p' (I - h^2 H / 4) p / 2, to leading order,
    with H in the preconditioner's coordinates. The integral over p adds h^2 tr H / 8 to the log
    density. By the inequality of Cauchy and Schwarz this moves the mean of any function by at most
    h^2 sd(tr H) / 8 of its standard deviations. The same bound is used for the other dynamics,
    whose constants are of that size; it is no theorem for them. In a hierarchical model
    the curvatures of all effects depend on one scale, so that their small errors add up to a large
    one of the scale. sd(tr H) therefore limits h as a curvature does: half of the tolerance of a
    variance is then left to a mean, 0.05 standard deviations.
    """
    friction = suggested_friction(curvature.largest, curvature.mean, dimension)
    dynamics = dynamics.with_friction(friction)
    if dynamics.has_friction:
        dynamics = replace(dynamics, friction=jnp.asarray(dynamics.friction, noise.dtype))
    heat = dynamics.heating(noise, 1.0)
    heat = heat / temperature if temperature > 0 else jnp.zeros_like(heat)
    stiffest = jnp.maximum(curvature.largest, curvature.variation)
    smooth = dynamics.largest_step_size(stiffest, TOLERANCE / 2)
    return Limits(dynamics, heat, smooth, smooth * heat)


@partial(jax.jit, static_argnames="can_slow")
def choose(
    limits: Limits, noise: Noise, most: Any, caution: Any, slowest: Any, can_slow: bool
) -> Chosen:
    """Return the largest step size, times `caution`, that the limits allow.

    Args:
        limits: what limits the step size.
        noise: what was measured of gradient noise.
        most: the largest share of heating that is allowed.
        caution: factor of the step size; below 1 if larger step sizes have diverged.
        slowest: the smallest curvature.
        can_slow: whether directions of more than typical noise are slowed down instead of the step
            size being reduced for all. Noise of unknown direction, the residual, may then heat by
            half of the tolerance.
    """
    tiny = jnp.finfo(limits.unit_heat.dtype).tiny
    quiet = most / jnp.maximum(limits.unit_heat, tiny)
    if not can_slow:
        h = caution * jnp.minimum(limits.smooth, quiet)
        largest_noise = jnp.ones_like(h)
    else:
        typical = most / jnp.maximum(limits.unit_heat * noise.typical / noise.largest, tiny)
        residual = limits.unit_heat * noise.residual / noise.largest
        unknown = TOLERANCE / 2 / jnp.maximum(residual, tiny)
        h = caution * jnp.minimum(limits.smooth, jnp.minimum(typical, unknown))
        largest_noise = jnp.minimum(quiet / h, 1.0)
    return Chosen(
        step_size=h,
        share=h * limits.unit_heat * largest_noise,
        relaxation_steps=limits.dynamics.relaxation_steps(slowest * largest_noise, h),
        batch_factor=jnp.maximum(limits.smooth / quiet, 1.0),
        largest_noise=largest_noise,
    )


def suggested_friction(largest: jax.Array, mean: jax.Array, dimension: int) -> jax.Array:
    """Return D = 1.5 sqrt(mean curvature); the mean is clipped to [largest / d, largest]."""
    return FRICTION * jnp.sqrt(jnp.clip(mean, largest / dimension, largest))
