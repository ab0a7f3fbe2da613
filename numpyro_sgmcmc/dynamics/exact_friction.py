"""Underdamped Langevin dynamics by kicks between exact steps without the gradient (UBU)."""

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

SMALL = 0.5
"""D h / 2 below which x - tanh x is summed as a series, because it would cancel."""
SERIES = (
    1 / 3,
    -2 / 15,
    17 / 315,
    -62 / 2835,
    1382 / 155925,
    -21844 / 6081075,
    929569 / 638512875,
    -6404582 / 10854718875,
    443861162 / 1856156927625,
    -18888466084 / 194896477400625,
)
"""Coefficients of (x - tanh x) / x^3 in powers of x^2. They leave 1e-10 at SMALL."""


@final
@as_pytree()
@dataclass(frozen=True)
class ExactFriction(AbstractDynamics):
    """UBU splitting of dz = p dt, dp = -grad U(z) dt - D p dt + sqrt(2 D T) dW.

    This is UBU (Sanz-Serna and Zygalakis 2021, https://jmlr.org/papers/v22/21-0453.html): a half
    step of the Ornstein-Uhlenbeck process of z and p, a whole kick, another half step. Two
    consecutive half steps are one exact step, the flight. A transition begins and ends before the
    kick, in the middle of UBU's step, where the gradient is evaluated:

    1. kick: p <- p - h g(z)
    2. flight: q = exp(-2 x) p + sqrt(2 D) (1 - exp(-2 x)) / (2 x) (dW_1 + x sqrt(s / k) dW_2),
       z <- z + tanh(x) / D (p + q) + sqrt(2 D) h / 2 (x s dW_1 - sqrt(s k) dW_2), then p <- q

    with x = D h / 2, k = tanh(x) / x, s = (1 - k) / x^2 and dW_1, dW_2 ~ N(0, T h I). z, p, g, dW_1
    and dW_2 have shape (d,); h has the units of z, which is the unit of time. The flight is the
    exact transition of z and p for the time h without the gradient. dW_1 is the increment of W, and
    dW_2 is independent of it. z + p / D changes by sqrt(2 / D) dW_1 alone, so that walkers with
    different steps on one path stay together. UBU as published needs four increments, or three if
    the draws are those at the ends of its steps.

    With exact gradients the bias is of second order in h and has even powers only: UBU's step is
    symmetric, a formal change of the sign of h exchanges the points before and after the kick, and
    both have the same position. On U = lambda z^2 / 2 the relative error of the variance of z is
    h^2 lambda / 12 to leading order, for every friction. At the ends of UBU's steps it is -h^2
    lambda / 6, twice as large. `Splitting` has -(D h)^2 / 24, which is smaller for D^2 < 2 lambda.
    The momentum is the one before the kick. The error of its variance is of second order, and that
    of its covariance with z is of first order. Paths have strong order two. Gradient noise of
    variance V adds the first-order term h V / (2 D), as for every splitting. h is that of
    Sanz-Serna and Zygalakis, and their gamma is D.

    Args:
        friction: D, in 1 / time. None lets the kernel choose. gamma in the papers.
        compensation: c, friction per unit of step size, in 1 / time^2, scalar or (d,): D + h c
            replaces D where the momentum is damped, and the noise is unchanged. None is zero.
    """

    friction: Any = None
    compensation: Any = None
    has_momentum: ClassVar[bool] = True
    has_kinetic_temperature: ClassVar[bool] = True
    has_friction: ClassVar[bool] = True
    takes_compensation: ClassVar[bool] = True
    bias_powers: ClassVar[tuple[int, int]] = (2, 4)
    increments_per_step: ClassVar[int] = 2

    def init(self, key: jax.Array, position: jax.Array, temperature: float) -> jax.Array:
        """Return a momentum ~ N(0, T I)."""
        return equilibrium_momentum(key, position, temperature)

    def lookahead(self, aux: jax.Array, step_size: jax.Array, position: jax.Array) -> jax.Array:
        """Return zero: the gradient is evaluated at the position."""
        return jnp.zeros_like(position)

    def step(
        self, aux: jax.Array, gradient: jax.Array, increment: jax.Array, step_size: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        """Return the displacement of the flight, and p after it; `increment` is (2, d)."""
        half = 0.5 * step_size
        x = half * total_friction(self, step_size)
        share, excess = jnp.tanh(x) / x, _excess(x)
        strength = jnp.sqrt(2.0 * self.friction)
        loud = strength * -jnp.expm1(-2 * x) / (2 * x)
        kicked = aux - step_size * gradient
        heat = increment[0] + x * jnp.sqrt(excess / share) * increment[1]
        momentum = jnp.exp(-2 * x) * kicked + loud * heat
        apart = x * excess * increment[0] - jnp.sqrt(excess * share) * increment[1]
        return half * (share * (kicked + momentum) + strength * apart), momentum

    def heating(self, noise: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return h V / (2 D), the ratio of h^2 V to 2 D h."""
        return jnp.asarray(step_size * noise / (2 * self.friction))

    def kinetic_temperature(self, aux: jax.Array) -> jax.Array:
        """Return p . p / d."""
        return mean_square(aux)

    def largest_step_size(self, curvature: ArrayLike, tolerance: float) -> jax.Array:
        """Return h with h^2 lambda / 12 = tolerance / 2.

        The position's error on a Gaussian takes half of the tolerance. For other U the curvature
        varies and adds a term of the same size: without friction positions have the potential
        U + h^2 tr H / 12 - h^2 |grad U|^2 / 24, to second order.
        """
        return jnp.sqrt(6 * tolerance / jnp.asarray(curvature))

    def relaxation_steps(self, curvature: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return the relaxation time of the slower of the two decay rates."""
        return underdamped_relaxation(self.friction, curvature, step_size)


def _excess(x: jax.Array) -> jax.Array:
    """Return (x - tanh x) / x^3, which is near 1 / 3 for small x."""
    series = jnp.polyval(jnp.asarray(SERIES[::-1], x.dtype), x**2)
    small = x < SMALL
    safe = jnp.where(small, 1.0, x)
    return jnp.where(small, series, (safe - jnp.tanh(safe)) / safe**3)
