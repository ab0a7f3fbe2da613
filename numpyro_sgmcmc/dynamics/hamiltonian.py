"""Underdamped Langevin dynamics (SGHMC) by semi-implicit Euler steps."""

from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar, final

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.dynamics.base import AbstractDynamics
from numpyro_sgmcmc.pytree import as_pytree


@final
@as_pytree()
@dataclass(frozen=True)
class Hamiltonian(AbstractDynamics):
    """Semi-implicit Euler steps of dz = p dt, dp = -grad U(z) dt - D p dt + sqrt(2 D T) dW.

    Update (algorithm 1 on the poster of Chen, Ding and Carin 2015,
    https://arxiv.org/abs/1610.06665): p <- (1 - D h) p - h g + sqrt(2 D) dW, then z <- z + h p with
    the new p. Here dW ~ N(0, T h I), and g is the gradient estimate at z; all have shape (d,). h
    has the units of z, which is the unit of time. An update of z by the old p would make the
    variance too large (1.46 instead of 1.02 at D = 1, h = 0.3).

    On U = lambda z^2 / 2 with gradient noise of variance V the stationary variance of z is
    (1 + h V / (2 D)) / (lambda (1 - h^2 lambda / (4 - 2 D h))) for T = 1. With exact gradients the
    bias of the position is therefore of second order in h, and that of the momentum, whose variance
    is near 1 + D h / 2, of first order. This holds for any U: the scheme is conjugate to a
    symmetric one (half kick, drift, half kick, damp) with temperature and force both divided by
    1 - D h / 2, which cancels in exp(-U / T). Gradient noise adds a first-order term. The scheme is
    stable for h^2 lambda < 4 - 2 D h. The symbols are those of the poster. Chen, Fox and Guestrin
    (2014) call h^2 the learning rate eta and D h the momentum decay alpha.

    Args:
        friction: D, in 1 / time. None lets the kernel choose.
        compensation: c, friction per unit of step size, in 1 / time^2, scalar or (d,): D + h c
            replaces D in the factor 1 - D h, and the noise is unchanged. None is zero.
    """

    friction: Any = None
    compensation: Any = None
    has_momentum: ClassVar[bool] = True
    has_kinetic_temperature: ClassVar[bool] = True
    has_friction: ClassVar[bool] = True
    takes_compensation: ClassVar[bool] = True
    bias_powers: ClassVar[tuple[int, int]] = (2, 3)

    def init(self, key: jax.Array, position: jax.Array, temperature: float) -> jax.Array:
        """Return a momentum ~ N(0, T I)."""
        return equilibrium_momentum(key, position, temperature)

    def lookahead(self, aux: jax.Array, step_size: jax.Array, position: jax.Array) -> jax.Array:
        """Return zero: the gradient is evaluated at the position."""
        return jnp.zeros_like(position)

    def step(
        self, aux: jax.Array, gradient: jax.Array, increment: jax.Array, step_size: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return h p with the new momentum p, and p."""
        kick = -step_size * gradient + jnp.sqrt(2.0 * self.friction) * increment
        momentum = (1.0 - total_friction(self, step_size) * step_size) * aux + kick
        return step_size * momentum, momentum

    def heating(self, noise: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return h V / (2 D), the ratio of h^2 V to 2 D h."""
        return jnp.asarray(step_size * noise / (2 * self.friction))

    def kinetic_temperature(self, aux: jax.Array) -> jax.Array:
        """Return p . p / d."""
        return mean_square(aux)

    def largest_step_size(self, curvature: ArrayLike, tolerance: float) -> jax.Array:
        """Return h with h^2 lambda / (4 - 2 D h) = tolerance."""
        root = jnp.sqrt((tolerance * self.friction) ** 2 + 4 * tolerance * curvature)
        return (root - tolerance * self.friction) / curvature

    def relaxation_steps(self, curvature: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return the relaxation time of the slower of the two decay rates."""
        return underdamped_relaxation(self.friction, curvature, step_size)


def equilibrium_momentum(key: jax.Array, position: jax.Array, temperature: float) -> jax.Array:
    """Return a momentum ~ N(0, T I) of the position's shape and dtype."""
    return sqrt(temperature) * random.normal(key, position.shape, position.dtype)


def total_friction(dynamics: AbstractDynamics, step_size: jax.Array) -> Any:
    """Return D + h c, the friction that damps the momentum."""
    if dynamics.compensation is None:
        return dynamics.friction
    return dynamics.friction + step_size * dynamics.compensation


def mean_square(momentum: jax.Array) -> jax.Array:
    """Return p . p / d, or zero if d is zero."""
    return momentum @ momentum / max(momentum.size, 1)


# Compiled as a whole, because compiling each operation alone takes longer.
@jax.jit
def underdamped_relaxation(friction: Any, curvature: ArrayLike, step_size: ArrayLike) -> jax.Array:
    """Return 1 / (h r), with r the real part of the smaller root of r^2 - D r + lambda = 0."""
    discriminant = jnp.maximum(friction**2 / 4 - curvature, 0.0)
    # lambda / (D/2 + root) equals the smaller root D/2 - root, but without cancellation.
    slow = curvature / (friction / 2 + jnp.sqrt(discriminant))
    rate = jnp.where(friction**2 / 4 > curvature, slow, friction / 2)
    return jnp.asarray(1.0 / (step_size * rate))
