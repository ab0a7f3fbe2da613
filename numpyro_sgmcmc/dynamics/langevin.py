"""Overdamped Langevin dynamics."""

from dataclasses import dataclass
from math import sqrt
from typing import final

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from numpyro_sgmcmc.dynamics.base import AbstractDynamics
from numpyro_sgmcmc.pytree import as_pytree


@final
@as_pytree()
@dataclass(frozen=True)
class Langevin(AbstractDynamics):
    """Euler-Maruyama steps of dz = -grad U(z) dt + sqrt(2 T) dW.

    Update: z <- z - h g + sqrt(2) dW, where dW ~ N(0, T h I) and g is the gradient estimate at z.
    z, g and dW have shape (d,).

    The bias is of first order in h. On U = lambda z^2 / 2 with gradient noise of variance V the
    stationary variance is (1 + h V / 2) / (lambda (1 - h lambda / 2)) for T = 1. The scheme is
    stable for h lambda < 2. h is gamma in Durmus et al. (2016) and in Brosse, Durmus and Moulines
    (2018); epsilon in Welling and Teh (2011, https://icml.cc/2011/papers/398_icmlpaper.pdf) is 2 h.
    h has the units of z squared.
    """

    def init(self, key: jax.Array, position: jax.Array, temperature: float) -> tuple[()]:
        """Return no auxiliary variables."""
        return ()

    def lookahead(self, aux: tuple[()], step_size: jax.Array, position: jax.Array) -> jax.Array:
        """Return zero: the gradient is evaluated at the position."""
        return jnp.zeros_like(position)

    def step(
        self, aux: tuple[()], gradient: jax.Array, increment: jax.Array, step_size: jax.Array
    ) -> tuple[jax.Array, tuple[()]]:
        """Return -h g + sqrt(2) dW."""
        return -step_size * gradient + sqrt(2.0) * increment, aux

    def heating(self, noise: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return h V / 2, the ratio of h^2 V to 2 h."""
        return jnp.asarray(step_size * noise / 2)

    def largest_step_size(self, curvature: ArrayLike, tolerance: float) -> jax.Array:
        """Return h with h lambda / 2 = tolerance, from the stationary variance above."""
        return jnp.asarray(2.0 * tolerance / jnp.asarray(curvature))

    def relaxation_steps(self, curvature: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return 1 / (h lambda)."""
        return jnp.asarray(1.0 / (step_size * curvature))
