"""A linear map of cost O(d): scales, and a dense factor for a few directions."""

from dataclasses import dataclass
from typing import ClassVar, final

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu.trips import kept
from numpyro_sgmcmc.preconditioner.base import AbstractLinearMap
from numpyro_sgmcmc.pytree import as_pytree
from numpyro_sgmcmc.subspace import Subspace


@final
@as_pytree()
@dataclass(frozen=True)
class Coupled(AbstractLinearMap):
    """S = diag(outer) (I + P (L - I) P') diag(inner).

    The columns of P are orthonormal directions, and L is a small dense matrix. If a model has a few
    parameters that all rows share and long plates of effects, the shared parameters are correlated
    mostly with the means of the effects. P contains the shared parameters and these means.

    Args:
        outer: scales of positions, (d,).
        subspace: P, (d, r).
        factor: L, (r, r).
        inner: scales of y, (d,).
    """

    outer: jax.Array
    subspace: Subspace
    factor: jax.Array
    inner: jax.Array
    is_dense: ClassVar[bool] = True

    def apply(self, y: jax.Array) -> jax.Array:
        """Return S y."""
        return self.outer * self._moved(self.factor, self.inner * y)

    def transpose(self, gradient: jax.Array) -> jax.Array:
        """Return S' g."""
        return self.inner * self._moved(self.factor.T, self.outer * gradient)

    def inverse(self) -> "Coupled":
        """Return the inverse; L is inverted in double precision."""
        inverse = np.linalg.inv(np.asarray(self.factor, np.float64))
        factor = jnp.asarray(inverse, self.factor.dtype)
        return Coupled(1 / self.inner, self.subspace, factor, 1 / self.outer)

    def _moved(self, factor: jax.Array, y: jax.Array) -> jax.Array:
        c = self.subspace.coordinates(y)
        return y + self.subspace.vector(kept(factor @ c - c))
