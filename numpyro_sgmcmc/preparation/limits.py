"""The largest step size that curvature and gradient noise allow, and a suitable friction."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.preparation.measure import Curvature
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
    """The values of `Adaptation` that follow from the limits."""

    step_size: jax.Array
    share: jax.Array
    relaxation_steps: jax.Array
    batch_factor: jax.Array


# Compiled as a whole, because compiling each scalar operation alone takes longer.
@partial(jax.jit, static_argnames=("dimension", "temperature"))
def limits_of(
    dynamics: Any, curvature: Curvature, noise: jax.Array, dimension: int, temperature: float
) -> Limits:
    """Return the limits that curvature and gradient noise set, and dynamics with a friction."""
    friction = suggested_friction(curvature.largest, curvature.mean, dimension)
    dynamics = dynamics.with_friction(friction)
    if dynamics.has_friction:
        dynamics = replace(dynamics, friction=jnp.asarray(dynamics.friction, noise.dtype))
    heat = dynamics.heating(noise, 1.0)
    heat = heat / temperature if temperature > 0 else jnp.zeros_like(heat)
    smooth = dynamics.largest_step_size(curvature.largest, TOLERANCE / 2)
    return Limits(dynamics, heat, smooth, smooth * heat)


@jax.jit
def choose(limits: Limits, most: Any, caution: Any, slowest: jax.Array) -> Chosen:
    """Return `caution` times the largest step size whose share of heating is at most `most`."""
    quiet = most / jnp.maximum(limits.unit_heat, jnp.finfo(limits.unit_heat.dtype).tiny)
    h = caution * jnp.minimum(limits.smooth, quiet)
    return Chosen(
        step_size=h,
        share=h * limits.unit_heat,
        relaxation_steps=limits.dynamics.relaxation_steps(slowest, h),
        batch_factor=jnp.maximum(limits.smooth / quiet, 1.0),
    )


def suggested_friction(largest: jax.Array, mean: jax.Array, dimension: int) -> jax.Array:
    """Return D = 1.5 sqrt(mean curvature); the mean is clipped to [largest / d, largest]."""
    return FRICTION * jnp.sqrt(jnp.clip(mean, largest / dimension, largest))
