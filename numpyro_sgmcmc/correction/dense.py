"""The noise correction for a whole covariance."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self, final

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.correction.base import AbstractCorrection, DiagonalCorrection, remainder
from numpyro_sgmcmc.pytree import as_pytree


@final
@as_pytree()
@dataclass(frozen=True)
class DenseCorrection(AbstractCorrection):
    """V as its eigenvalues and eigenvectors.

    Attributes:
        variances: eigenvalues, (d,).
        axes: eigenvectors, the columns of (d, d).
    """

    variances: jax.Array
    axes: jax.Array

    @property
    def dimension(self) -> int:
        """The number d of coordinates."""
        return self.variances.size

    @property
    def largest(self) -> jax.Array:
        """The largest eigenvalue."""
        return jnp.max(self.variances)

    def reduce(self, increment: jax.Array, heating: Callable[[jax.Array], jax.Array]) -> jax.Array:
        """Return the increment, reduced along each eigenvector by its gradient noise."""
        return self.axes @ (remainder(heating(self.variances)) * (self.axes.T @ increment))

    def diagonal(self) -> DiagonalCorrection:
        """Return the diagonal of V."""
        return DiagonalCorrection(self.axes**2 @ self.variances)

    def at_temperature(self, temperature: float) -> Self:
        """Return the correction V / T."""
        return replace(self, variances=self.variances / temperature)

    def noisiest(self, count: int) -> jax.Array:
        """Return the eigenvectors of the largest eigenvalues, at most `count`, as rows."""
        places = jax.lax.top_k(self.variances, min(count, self.dimension))[1]
        return self.axes.T[places]

    def along(self, axes: np.ndarray | None) -> np.ndarray:
        """Return the diagonal of axes' V axes."""
        own = np.asarray(self.axes, np.float64)
        cosines = own if axes is None else np.asarray(axes, np.float64).T @ own
        return cosines**2 @ np.asarray(self.variances, np.float64)
