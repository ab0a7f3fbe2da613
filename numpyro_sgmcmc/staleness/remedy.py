"""Remedies against the bias of stale gradients: more friction, or a correction by curvature."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.dynamics import AbstractDynamics
from numpyro_sgmcmc.preconditioner import AbstractLinearMap
from numpyro_sgmcmc.pytree import as_pytree

PROBES = 32
"""Vectors of random signs from which a diagonal is estimated in many dimensions."""

EXACT_DIMENSION = 2_000
"""Up to this dimension a diagonal is computed column by column."""


class AbstractRemedy(ABC):
    """A remedy with the numbers that it takes from a run's preparation.

    Attributes:
        name: as the user writes it.
    """

    name: ClassVar[str]

    @abstractmethod
    def along(self, axes: np.ndarray, linear: AbstractLinearMap) -> np.ndarray:
        """Return the curvature that is assumed along orthonormal axes of y, (m,).

        Args:
            axes: the columns of (d, m).
            linear: the preconditioner S, z = S y.
        """


@final
@as_pytree()
@dataclass(frozen=True)
class FrictionRemedy(AbstractRemedy):
    """Friction D + h a lambda with the noise of D, where a is the mean age.

    To first order in h, a force that is k transitions old is lambda (z - k h p): the momentum is
    driven with k h lambda, negative friction. More friction by its mean balances it.

    Attributes:
        curvature: lambda of each coordinate of y, (d,).
        mean_age: a, in transitions.
    """

    curvature: jax.Array
    mean_age: jax.Array
    name: ClassVar[str] = "friction"

    def at_age(self, age: jax.Array) -> "FrictionRemedy":
        """Return the remedy for one gradient whose age is known.

        It cancels that gradient's own negative friction, so that ages may depend on anything.
        """
        return replace(self, mean_age=age.astype(self.mean_age.dtype))

    def damped(self, dynamics: AbstractDynamics) -> AbstractDynamics:
        """Return the dynamics with the additional friction."""
        given: Any = dynamics
        return replace(given, compensation=self.mean_age * self.curvature)

    def along(self, axes: np.ndarray, linear: AbstractLinearMap) -> np.ndarray:
        """Return the diagonal of axes' diag(lambda) axes."""
        return (axes**2).T @ np.asarray(self.curvature, np.float64)


@final
@as_pytree()
@dataclass(frozen=True)
class CurvatureRemedy(AbstractRemedy):
    """H (q_now - q_then) is added to a gradient at q_then.

    Attributes:
        whiten: W with H = W' W.
    """

    whiten: AbstractLinearMap
    name: ClassVar[str] = "curvature"

    def product(self, change: jax.Array) -> jax.Array:
        """Return H times a change of the position, (d,)."""
        return self.whiten.transpose(self.whiten.apply(change))

    def along(self, axes: np.ndarray, linear: AbstractLinearMap) -> np.ndarray:
        """Return the diagonal of axes' S' H S axes."""
        rows = jnp.asarray(axes.T, jnp.result_type(float))
        images = jax.vmap(lambda v: self.whiten.apply(linear.apply(v)))(rows)
        return np.sum(np.asarray(images, np.float64) ** 2, axis=1)


def relative_curvature(
    whiten: AbstractLinearMap, linear: AbstractLinearMap, position: jax.Array
) -> jax.Array:
    """Return the diagonal of S' W' W S, (d,): the curvature of each coordinate of y.

    It is 1 where the preconditioner S is the inverse of W. Above 2,000 dimensions it is estimated
    from 32 products; the error is that of the entries off the diagonal.
    """
    dimension, dtype = position.size, position.dtype

    def image(v: jax.Array) -> jax.Array:
        return whiten.apply(linear.apply(v))

    if dimension <= EXACT_DIMENSION:
        return jnp.sum(jax.vmap(image)(jnp.eye(dimension, dtype=dtype)) ** 2, axis=1)
    signs = random.signs(jax.random.key(0), (PROBES, dimension), dtype)

    def product(v: jax.Array) -> jax.Array:
        return v * linear.transpose(whiten.transpose(image(v)))

    return jnp.maximum(jnp.mean(jax.lax.map(product, signs), axis=0), 0.0)
