"""The interface of noise corrections, and the diagonal one."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.pytree import as_pytree


class AbstractCorrection(ABC):
    """Covariance V of the gradient noise in the preconditioner's coordinates, at T = 1.

    Attributes:
        axes: eigenvectors of V, the columns of (d, d); None if V is not formed.
    """

    axes: Any

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number d of coordinates."""

    @property
    @abstractmethod
    def largest(self) -> jax.Array:
        """The largest eigenvalue of V."""

    @abstractmethod
    def reduce(self, increment: jax.Array, heating: Callable[[jax.Array], jax.Array]) -> jax.Array:
        """Return C dW; `heating` maps variances of V to shares of the increment's variance."""

    @abstractmethod
    def diagonal(self) -> "DiagonalCorrection":
        """Return the diagonal of V."""

    @abstractmethod
    def at_temperature(self, temperature: float) -> Self:
        """Return the correction V / T, for gradient noise of covariance V at temperature T."""

    @abstractmethod
    def noisiest(self, count: int) -> jax.Array:
        """Return the directions of largest variance, at most `count`, as rows."""

    @abstractmethod
    def along(self, axes: np.ndarray | None) -> np.ndarray:
        """Return the variances of V along orthonormal axes, in double precision.

        Args:
            axes: the columns of (d, d); None for the coordinate axes.
        """


def coordinate_axes(places: jax.Array, dimension: int, dtype: Any) -> jax.Array:
    """Return unit vectors along coordinates, as rows."""
    return jnp.zeros((len(places), dimension), dtype).at[jnp.arange(len(places)), places].set(1)


def remainder(share: jax.Array) -> jax.Array:
    """Return the factor of an increment whose variance is reduced by a share."""
    return jnp.sqrt(jnp.maximum(1.0 - share, 0.0))


@final
@as_pytree()
@dataclass(frozen=True)
class DiagonalCorrection(AbstractCorrection):
    """V as its diagonal.

    Attributes:
        variances: of coordinates, (d,).
    """

    variances: jax.Array
    axes: ClassVar[Any] = None

    @property
    def dimension(self) -> int:
        """The number d of coordinates."""
        return self.variances.size

    @property
    def largest(self) -> jax.Array:
        """The largest variance."""
        return jnp.max(self.variances)

    def reduce(self, increment: jax.Array, heating: Callable[[jax.Array], jax.Array]) -> jax.Array:
        """Return the increment, reduced in each coordinate by its gradient noise."""
        return remainder(heating(self.variances)) * increment

    def diagonal(self) -> "DiagonalCorrection":
        """Return the correction itself."""
        return self

    def at_temperature(self, temperature: float) -> Self:
        """Return the correction V / T."""
        return replace(self, variances=self.variances / temperature)

    def noisiest(self, count: int) -> jax.Array:
        """Return the coordinates of largest variance, at most `count`, as rows."""
        places = jax.lax.top_k(self.variances, min(count, self.dimension))[1]
        return coordinate_axes(places, self.dimension, self.variances.dtype)

    def along(self, axes: np.ndarray | None) -> np.ndarray:
        """Return the diagonal of axes' V axes."""
        variances = np.asarray(self.variances, np.float64)
        return variances if axes is None else (np.asarray(axes, np.float64) ** 2).T @ variances
