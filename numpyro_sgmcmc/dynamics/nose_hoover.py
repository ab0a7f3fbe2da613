"""Underdamped Langevin dynamics whose friction is a thermostat (SGNHT)."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, final

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from numpyro_sgmcmc.dynamics.base import AbstractDynamics
from numpyro_sgmcmc.dynamics.hamiltonian import (
    equilibrium_momentum,
    mean_square,
    underdamped_relaxation,
)
from numpyro_sgmcmc.dynamics.splitting import Splitting
from numpyro_sgmcmc.pytree import as_pytree


class Thermostat(NamedTuple):
    """Momentum p (d,), friction xi () and the target temperature T ()."""

    momentum: jax.Array
    friction: jax.Array
    temperature: jax.Array


@final
@as_pytree()
@dataclass(frozen=True)
class NoseHoover(AbstractDynamics):
    """Symmetric splitting of the stochastic-gradient Nose-Hoover thermostat.

    dz = p dt, dp = -grad U(z) dt - xi p dt + sqrt(2 A T) dW, dxi = (p . p / d - T) dt, which leaves
    exp(-(U + p . p / 2 + d (xi - A)^2 / 2) / T) invariant. This is the thermostat of Ding, Fang,
    Babbush, Chen, Skeel and Neven (2014, https://people.ee.duke.edu/~lcarin/sgnht-4.pdf), who take
    Euler steps. For the splitting see Leimkuhler and Shang (2015,
    https://arxiv.org/abs/1505.06889). Isotropic gradient noise of variance V acts as additional
    noise h V / 2. xi then fluctuates around A + h V / 2, which removes the effect of the noise on
    the distribution of z. Noise whose variance differs between directions is compensated only on
    average.

    Update, in which each part is solved exactly:

    1. drift: z <- z + p h / 2, xi <- xi + (p . p / d - T) h / 2
    2. damp:  p <- exp(-xi h / 2) p
    3. kick:  p <- p - h g(z) + sqrt(2 A) dW, with dW ~ N(0, T h I)
    4. damp, 5. drift: as 2 and 1.

    The bias is of second order in h with exact gradients. The gradient is evaluated after the first
    drift. z, p, g and dW have shape (d,), and xi is a scalar; h has the units of z, which is the
    unit of time. The symbols A, xi and h are those of Ding et al.

    Args:
        friction: A, in 1 / time. None lets the kernel choose.
    """

    friction: Any = None
    has_momentum: ClassVar[bool] = True
    has_kinetic_temperature: ClassVar[bool] = True
    has_friction: ClassVar[bool] = True
    bias_powers: ClassVar[tuple[int, int]] = (2, 4)  # A palindrome of exact flows: even powers.

    def init(self, key: jax.Array, position: jax.Array, temperature: float) -> Thermostat:
        """Return a momentum ~ N(0, T I), and the friction A, its mean without gradient noise."""
        return Thermostat(
            equilibrium_momentum(key, position, temperature),
            jnp.asarray(self.friction, position.dtype),
            jnp.asarray(temperature, position.dtype),
        )

    def lookahead(self, aux: Thermostat, step_size: jax.Array, position: jax.Array) -> jax.Array:
        """Return the first drift, p h / 2."""
        return 0.5 * step_size * aux.momentum

    def step(
        self, aux: Thermostat, gradient: jax.Array, increment: jax.Array, step_size: jax.Array
    ) -> tuple[jax.Array, Thermostat]:
        """Return both drifts (h / 2) (p_old + p_new), and the new thermostat."""
        half = 0.5 * step_size
        friction = aux.friction + half * _excess(aux.momentum, aux.temperature)
        damp = jnp.exp(-friction * half)
        kick = -step_size * gradient + jnp.sqrt(2.0 * self.friction) * increment
        momentum = damp * (damp * aux.momentum + kick)
        friction = friction + half * _excess(momentum, aux.temperature)
        displacement = half * (aux.momentum + momentum)
        return displacement, Thermostat(momentum, friction, aux.temperature)

    def heating(self, noise: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return h V / (2 A), the ratio of h^2 V to 2 A h."""
        return jnp.asarray(step_size * noise / (2 * self.friction))

    def linearised(self) -> Splitting:
        """Return `Splitting` with friction A, to which `balanced` adds what xi adapts to."""
        return Splitting(self.friction)

    def kinetic_temperature(self, aux: Thermostat) -> jax.Array:
        """Return p . p / d."""
        return mean_square(aux.momentum)

    def largest_step_size(self, curvature: ArrayLike, tolerance: float) -> jax.Array:
        """Return the largest step size of `Splitting`."""
        return jnp.sqrt(2 * tolerance / (curvature / 4 + self.friction**2 / 6))

    def relaxation_steps(self, curvature: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return the relaxation time of the slower of the two decay rates, at friction A."""
        return underdamped_relaxation(self.friction, curvature, step_size)


def _excess(momentum: jax.Array, temperature: jax.Array) -> jax.Array:
    """Return the kinetic temperature p . p / d minus the target temperature."""
    return mean_square(momentum) - temperature
