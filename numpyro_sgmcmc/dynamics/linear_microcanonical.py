"""The linear dynamics that microcanonical dynamics become in many dimensions."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from numpyro_sgmcmc.dynamics.base import AbstractDynamics
from numpyro_sgmcmc.dynamics.hamiltonian import (
    equilibrium_momentum,
    mean_square,
    underdamped_relaxation,
)
from numpyro_sgmcmc.pytree import as_pytree

SMALL = 5e-3
"""log cosh b below which sinh(b) / b is summed as a series, to single precision."""


@final
@as_pytree()
@dataclass(frozen=True)
class LinearMicrocanonical(AbstractDynamics):
    """Drift, kick, drift and refreshment of dz = p dt, dp = -grad U dt - D p dt + sqrt(2 D T) dW.

    1. drift: z <- z + p h / 2
    2. kick: p <- p / cosh b - (tanh b / b) h g(z), with cosh b = exp(c h^2)
    3. drift: z <- z + p h / 2
    4. refresh: p <- (a p + sqrt((1 - a^2) / h) dW) / sqrt(a^2 + (1 - a^2) (1 - s)), a = exp(-D h)

    This is what `Microcanonical` does to one of many directions at T = 1. With exact gradients c
    and s are zero, and these are position Verlet steps. On U = lambda z^2 / 2 they conserve lambda
    z^2 / (1 - h^2 lambda / 4) + p^2, and the refreshment leaves N(0, I) invariant. So the variance
    of p is 1, and that of z is (1 - h^2 lambda / 4) / lambda, for every D. Gradient noise, and
    gradients that are old, lengthen p in the kick; c takes it back, and b = h |g| / sqrt(d) then. A
    noise correction makes the injected noise smaller by the share s, and the last step restores the
    length. Left out is the curvature's part of |g|^2: `Microcanonical` also multiplies forces by
    1 - h^2 m / 12, with m the mean curvature.

    z, p, g and dW have shape (d,), and dW ~ N(0, T h (1 - s) I). The gradient is evaluated after
    the first drift.

    Args:
        friction: D, in 1 / time. None lets the kernel choose.
        compensation: c, friction per unit of step size, in 1 / time^2, scalar or (d,), which
            `balanced` in `stationary` finds. None is zero.
        share: s, of the injected noise that a noise correction removes, a mean over all directions.
    """

    friction: Any = None
    compensation: Any = None
    share: Any = 0.0
    has_momentum: ClassVar[bool] = True
    has_kinetic_temperature: ClassVar[bool] = True
    has_friction: ClassVar[bool] = True
    takes_compensation: ClassVar[bool] = True
    bias_powers: ClassVar[tuple[int, int]] = (2, 4)

    def init(self, key: jax.Array, position: jax.Array, temperature: float) -> jax.Array:
        """Return a momentum ~ N(0, T I)."""
        return equilibrium_momentum(key, position, temperature)

    def lookahead(self, aux: jax.Array, step_size: jax.Array, position: jax.Array) -> jax.Array:
        """Return the first drift, p h / 2."""
        return 0.5 * step_size * aux

    def step(
        self, aux: jax.Array, gradient: jax.Array, increment: jax.Array, step_size: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return both drifts (h / 2) (p + kicked p), and p after the refreshment."""
        kicked = aux - step_size * gradient
        if self.compensation is not None:
            growth = jnp.asarray(step_size**2 * self.compensation)
            kicked = jnp.exp(-growth) * aux - _tanh_over(growth) * step_size * gradient
        return 0.5 * step_size * (aux + kicked), self.refreshed(kicked, increment, step_size)

    def refreshed(
        self, momentum: jax.Array, increment: jax.Array, step_size: jax.Array
    ) -> jax.Array:
        """Return the momentum after step 4."""
        kept = jnp.exp(-self.friction * step_size)
        fresh = -jnp.expm1(-2 * self.friction * step_size)
        drawn = kept * momentum + jnp.sqrt(fresh / step_size) * increment
        return drawn / jnp.sqrt(1 - fresh * self.share)

    def with_correction(self, share: float) -> "LinearMicrocanonical":
        """Return these dynamics with this share of the injected noise removed."""
        return replace(self, share=share)

    def heating(self, noise: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return h V / (2 D), the ratio of h^2 V to 2 D h."""
        return jnp.asarray(step_size * noise / (2 * self.friction))

    def kinetic_temperature(self, aux: jax.Array) -> jax.Array:
        """Return p . p / d."""
        return mean_square(aux)

    def largest_step_size(self, curvature: ArrayLike, tolerance: float) -> jax.Array:
        """Return h with h^2 lambda / 4 = tolerance / 2.

        The position's error on a Gaussian takes half of the tolerance. For other U the curvature
        varies and adds a term of the same size.
        """
        return jnp.sqrt(2 * tolerance / jnp.asarray(curvature))

    def relaxation_steps(self, curvature: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return the relaxation time of the slower of the two decay rates."""
        return underdamped_relaxation(self.friction, curvature, step_size)


def _tanh_over(x: jax.Array) -> jax.Array:
    """Return tanh(b) / b for cosh b = exp(x), with an imaginary b for x < 0."""
    safe = jnp.where(x < SMALL, 1.0, x)
    tanh = jnp.sqrt(-jnp.expm1(-2 * safe))
    series = jnp.exp(-x) * (1 + x / 3 + 13 * x**2 / 90)
    return jnp.where(x < SMALL, series, tanh / (safe + jnp.log1p(tanh)))
