"""Explicit Euler steps of underdamped Langevin dynamics, which the package does not offer."""

from dataclasses import dataclass
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.dynamics.hamiltonian import equilibrium_momentum
from numpyro_sgmcmc.pytree import as_pytree
from tests.oracles.recursion import Recursion


@final
@as_pytree()
@dataclass(frozen=True)
class ExplicitEuler(AbstractDynamics):
    """z <- z + h p with the old p; p <- (1 - D h) p - h g + sqrt(2 D) dW.

    First order in h, and on U = lambda z^2 / 2 unstable from h = D / lambda on.
    """

    friction: Any

    def init(self, key: jax.Array, position: jax.Array, temperature: float) -> jax.Array:
        return equilibrium_momentum(key, position, temperature)

    def lookahead(self, aux: jax.Array, step_size: jax.Array, position: jax.Array) -> jax.Array:
        return jnp.zeros_like(position)

    def step(
        self, aux: jax.Array, gradient: jax.Array, increment: jax.Array, step_size: jax.Array
    ) -> tuple[jax.Array, jax.Array]:
        kick = -step_size * gradient + jnp.sqrt(2.0 * self.friction) * increment
        return step_size * aux, (1.0 - self.friction * step_size) * aux + kick

    def heating(self, noise: ArrayLike, step_size: ArrayLike) -> jax.Array:
        return jnp.asarray(step_size * noise / (2 * self.friction))

    def largest_step_size(self, curvature: ArrayLike, tolerance: float) -> jax.Array:
        raise NotImplementedError("It is run with given step sizes only.")

    def relaxation_steps(self, curvature: ArrayLike, step_size: ArrayLike) -> jax.Array:
        raise NotImplementedError("It is run with given step sizes only.")


def explicit_euler(h: float, s: np.ndarray, friction: float) -> Recursion:
    """Return its matrices, as the functions of `tests.oracles.recursion` do; s is the identity."""
    eye = np.eye(len(s))
    free = np.block([[eye, h * eye], [0 * eye, (1 - friction * h) * eye]])
    load = np.vstack([0 * eye, eye])
    return Recursion(free, -h * load, np.sqrt(2 * friction) * load, np.hstack([eye, 0 * eye]))
