"""Constant linear maps."""

from dataclasses import dataclass
from typing import ClassVar, final

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.preconditioner.base import AbstractLinearMap, AbstractPreconditioner
from numpyro_sgmcmc.pytree import as_pytree


@final
@as_pytree()
@dataclass(frozen=True)
class Identity(AbstractLinearMap):
    """S = I."""

    is_dense: ClassVar[bool] = False

    def apply(self, y: jax.Array) -> jax.Array:
        """Return y."""
        return y

    def transpose(self, gradient: jax.Array) -> jax.Array:
        """Return g."""
        return gradient

    def inverse(self) -> "Identity":
        """Return the map itself."""
        return self


@final
@as_pytree()
@dataclass(frozen=True)
class Diagonal(AbstractLinearMap):
    """S = diag(scale).

    Args:
        scale: standard deviations, shape (d,), in the order of the flat unconstrained position
            (sites by name, each flattened in C order).
    """

    scale: jax.Array
    is_dense: ClassVar[bool] = False

    def apply(self, y: jax.Array) -> jax.Array:
        """Return scale * y."""
        return self.scale * y

    def transpose(self, gradient: jax.Array) -> jax.Array:
        """Return scale * g."""
        return self.scale * gradient

    def inverse(self) -> "Diagonal":
        """Return diag(1 / scale)."""
        return Diagonal(1 / self.scale)


@final
@as_pytree()
@dataclass(frozen=True)
class Dense(AbstractLinearMap):
    """S = factor, such as a Cholesky factor of the posterior's covariance factor factor'.

    Args:
        factor: shape (d, d), in the order of the flat unconstrained position.
    """

    factor: jax.Array
    is_dense: ClassVar[bool] = True

    def apply(self, y: jax.Array) -> jax.Array:
        """Return factor y."""
        return self.factor @ y

    def transpose(self, gradient: jax.Array) -> jax.Array:
        """Return factor' g."""
        return self.factor.T @ gradient

    def inverse(self) -> "Dense":
        """Return the inverse factor, computed in double precision."""
        inverse = np.linalg.inv(np.asarray(self.factor, np.float64))
        return Dense(jnp.asarray(inverse, self.factor.dtype))


def check_preconditioner(preconditioner: AbstractPreconditioner, dimension: int) -> None:
    """Check a user's preconditioner against the model's number of unconstrained parameters.

    The constructors do not check, because JAX rebuilds these objects with tracers and batched
    arrays.

    Raises:
        ValueError: if its shape does not fit, an entry is not finite, or a scale is not positive.
    """
    name = type(preconditioner).__name__
    for leaf in map(np.asarray, jax.tree.leaves(preconditioner)):
        if leaf.shape not in {(dimension,), (dimension, dimension)}:
            raise ValueError(
                f"Expected {name} to fit the model's {dimension} unconstrained parameters;"
                f" got an array of shape {leaf.shape}. Pass one scale for each parameter, shape"
                f" ({dimension},), or a factor of shape ({dimension}, {dimension})."
            )
        if not np.all(np.isfinite(leaf)):
            raise ValueError(
                f"Expected {name} to be finite; got non-finite entries. Pass finite numbers."
            )
        if leaf.ndim == 1 and not np.all(leaf > 0):
            raise ValueError(
                f"Expected {name} to have positive scales; got {leaf}. Pass standard deviations."
            )
