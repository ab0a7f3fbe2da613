"""What curvature and gradient noise leave of a step size, and the friction that suits them."""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.preparation.measure import Curvature
from numpyro_sgmcmc.preparation.thresholds import FRICTION, TOLERANCE


class Limits(NamedTuple):
    """Dynamics with their friction, heating at h = 1, the largest smooth h, heating there."""

    dynamics: Any
    unit_heat: jax.Array
    smooth: jax.Array
    share: jax.Array


class Chosen(NamedTuple):
    """The numbers of `Adaptation` that follow from the limits."""

    step_size: jax.Array
    share: jax.Array
    relaxation_steps: jax.Array
    batch_factor: jax.Array


# Programs of a few numbers: one by one, their operations take longer to compile.
@partial(jax.jit, static_argnames=("dimension", "temperature"))
def limits_of(
    dynamics: Any, curvature: Curvature, noise: jax.Array, dimension: int, temperature: float
) -> Limits:
    """Return what curvature and gradient noise allow dynamics to do, their friction filled in."""
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
    """Return the largest step size whose share of heating is at most `most`, times `caution`."""
    quiet = most / jnp.maximum(limits.unit_heat, jnp.finfo(limits.unit_heat.dtype).tiny)
    h = caution * jnp.minimum(limits.smooth, quiet)
    return Chosen(
        step_size=h,
        share=h * limits.unit_heat,
        relaxation_steps=limits.dynamics.relaxation_steps(slowest, h),
        batch_factor=jnp.maximum(limits.smooth / quiet, 1.0),
    )


def suggested_friction(largest: jax.Array, mean: jax.Array, dimension: int) -> jax.Array:
    """Return D = 1.5 sqrt(mean curvature); the mean lies between largest / d and largest."""
    return FRICTION * jnp.sqrt(jnp.clip(mean, largest / dimension, largest))
