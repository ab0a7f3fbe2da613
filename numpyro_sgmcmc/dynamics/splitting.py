"""Underdamped Langevin dynamics (SGHMC) by symmetric splitting."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from numpyro_sgmcmc.dynamics.base import AbstractDynamics
from numpyro_sgmcmc.dynamics.hamiltonian import (
    equilibrium_momentum,
    mean_square,
    total_friction,
    underdamped_relaxation,
)
from numpyro_sgmcmc.pytree import as_pytree


@final
@as_pytree()
@dataclass(frozen=True)
class Splitting(AbstractDynamics):
    """Symmetric splitting of dz = p dt, dp = -grad U(z) dt - D p dt + sqrt(2 D T) dW.

    These are the five steps of Chen, Ding and Carin (2015, https://arxiv.org/abs/1610.06665),
    section 4, each solved exactly:

    1. drift: z <- z + p h / 2
    2. damp:  p <- exp(-D h / 2) p
    3. kick:  p <- p - h g(z) + sqrt(2 D) dW, with dW ~ N(0, T h I)
    4. damp:  p <- exp(-D h / 2) p
    5. drift: z <- z + p h / 2

    The gradient is evaluated after the first drift, so the lookahead is p h / 2. z, p, g and dW
    have shape (d,); h has the units of z, which is the unit of time.

    The bias is of second order in h with exact gradients. On U = lambda z^2 / 2 the relative error
    of the variance is -(D h)^2 / 24 for z and h^2 lambda / 4 - (D h)^2 / 6 for p, to leading order.
    Gradient noise of variance V adds the first-order term h V / (2 D), which the splitting does not
    remove. The symbols are those of the paper.

    Args:
        friction: D, in 1 / time. None lets the kernel choose.
        compensation: c, friction per unit of step size, in 1 / time^2, scalar or (d,): D + h c
            replaces D where the momentum is damped, and the noise is unchanged. None is zero.
    """

    friction: Any = None
    compensation: Any = None
    has_momentum: ClassVar[bool] = True
    has_kinetic_temperature: ClassVar[bool] = True
    has_friction: ClassVar[bool] = True
    takes_compensation: ClassVar[bool] = True
    bias_powers: ClassVar[tuple[int, int]] = (2, 4)  # A palindrome of exact flows: even powers.

    def init(self, key: jax.Array, position: jax.Array, temperature: float) -> jax.Array:
        """Return a momentum ~ N(0, T I)."""
        return equilibrium_momentum(key, position, temperature)

    def lookahead(self, aux: jax.Array, step_size: jax.Array, position: jax.Array) -> jax.Array:
        """Return the first drift, p h / 2."""
        return 0.5 * step_size * aux

    def step(
        self, aux: jax.Array, gradient: jax.Array, increment: jax.Array, step_size: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return both drifts (h / 2) (p_old + p_new), and p_new."""
        damp = jnp.exp(-0.5 * total_friction(self, step_size) * step_size)
        kick = -step_size * gradient + jnp.sqrt(2.0 * self.friction) * increment
        momentum = damp * (damp * aux + kick)
        return 0.5 * step_size * (aux + momentum), momentum

    def heating(self, noise: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return h V / (2 D), the ratio of h^2 V to 2 D h."""
        return jnp.asarray(step_size * noise / (2 * self.friction))

    def kinetic_temperature(self, aux: jax.Array) -> jax.Array:
        """Return p . p / d."""
        return mean_square(aux)

    def largest_step_size(self, curvature: ArrayLike, tolerance: float) -> jax.Array:
        """Return h with h^2 (lambda / 4 + D^2 / 6) = 2 tolerance.

        This bounds half of the momentum's error. On a Gaussian the position's error is smaller, (D
        h)^2 / 24, but for other U a part of the momentum's error is passed on to the position.
        """
        return jnp.sqrt(2 * tolerance / (curvature / 4 + self.friction**2 / 6))

    def relaxation_steps(self, curvature: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return the relaxation time of the slower of the two decay rates."""
        return underdamped_relaxation(self.friction, curvature, step_size)
