"""A noise correction of cost O(d): variances, and a dense covariance in a few directions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.correction.base import (
    AbstractCorrection,
    DiagonalCorrection,
    coordinate_axes,
    remainder,
)
from numpyro_sgmcmc.pytree import as_pytree
from numpyro_sgmcmc.subspace import Subspace


@final
@as_pytree()
@dataclass(frozen=True)
class CoupledCorrection(AbstractCorrection):
    """V = P W P' + (I - P P') diag(v) (I - P P') for orthonormal directions P.

    The correction is exact if v has the same value in all coordinates of a direction. Otherwise the
    projection after the reduction changes it by a share of about 1 / n in a mean over n
    coordinates.

    Attributes:
        outside: v, the variances of coordinates outside of the subspace, (d,).
        subspace: P, (d, r).
        inside: eigenvalues of W, (r,).
        inside_axes: eigenvectors of W, the columns of (r, r).
    """

    outside: jax.Array
    subspace: Subspace
    inside: jax.Array
    inside_axes: jax.Array
    axes: ClassVar[Any] = None

    @property
    def dimension(self) -> int:
        """The number d of coordinates."""
        return self.outside.size

    @property
    def largest(self) -> jax.Array:
        """The largest of the variances v and W, which no direction exceeds."""
        exists = self.subspace.diagonal_outside(jnp.ones_like(self.outside)) > 0
        return jnp.maximum(jnp.max(self.outside, where=exists, initial=0), jnp.max(self.inside))

    def reduce(self, increment: jax.Array, heating: Callable[[jax.Array], jax.Array]) -> jax.Array:
        """Return the increment, reduced by the gradient noise inside and outside of P."""
        c = self.subspace.coordinates(increment)
        rest = increment - self.subspace.vector(c)
        rest = remainder(heating(self.outside)) * rest
        c = self.inside_axes @ (remainder(heating(self.inside)) * (self.inside_axes.T @ c))
        return rest + self.subspace.vector(c - self.subspace.coordinates(rest))

    def diagonal(self) -> DiagonalCorrection:
        """Return the diagonal of V."""
        inside = self.subspace.squares(self.inside_axes**2 @ self.inside)
        return DiagonalCorrection(self.subspace.diagonal_outside(self.outside) + inside)

    def at_temperature(self, temperature: float) -> Self:
        """Return the correction V / T."""
        return replace(self, outside=self.outside / temperature, inside=self.inside / temperature)

    def noisiest(self, count: int) -> jax.Array:
        """Return the directions inside and coordinates outside of largest variance, as rows."""
        exists = self.subspace.diagonal_outside(jnp.ones_like(self.outside)) > 0
        each = jnp.concatenate([self.inside, jnp.where(exists, self.outside, 0.0)])
        places = jax.lax.top_k(each, min(count, self.dimension))[1]
        size = self.inside.size
        axes = self.inside_axes.T[jnp.minimum(places, size - 1)]
        inside = jax.vmap(self.subspace.vector)(axes)
        alone = coordinate_axes(jnp.maximum(places - size, 0), self.dimension, self.outside.dtype)
        return jnp.where((places < size)[:, None], inside, alone)

    def along(self, axes: np.ndarray | None) -> np.ndarray:
        """Return the diagonal of axes' V axes."""
        if axes is None:
            return np.asarray(self.diagonal().variances, np.float64)
        columns = jnp.asarray(axes).T
        rest = np.asarray(jax.vmap(self.subspace.outside)(columns), np.float64)
        c = np.asarray(jax.vmap(self.subspace.coordinates)(columns), np.float64)
        inside = (c @ np.asarray(self.inside_axes, np.float64)) ** 2 @ np.asarray(
            self.inside, np.float64
        )
        return rest**2 @ np.asarray(self.outside, np.float64) + inside
