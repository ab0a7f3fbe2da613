"""Noise correction: the injected noise is reduced by the measured gradient noise.

With y = S^-1 z, gradient noise of covariance V in y adds h^2 V to the covariance of a kick. The
increment should add 2 D h I (2 h I for Langevin). With an increment C dW such that

    C C' = I - heating(V),    heating(V) = h V / (2 D)    (h V / 2 for Langevin)

the sum is 2 D h I. In SGHMC this is the estimate B^ of Chen, Fox and Guestrin (2014,
https://arxiv.org/abs/1402.4102, section 3.3), who inject noise of covariance 2 (C - B^) h with
friction C and B^ = h V / 2. Here V is the covariance of the whole-data gradient's estimate, which
is N^2 / B times that of one row, in whitened coordinates. In directions in which V exceeds 2 D / h
the gradient noise alone is too large, and the increment is zero.

V is averaged over the posterior. If V depends on z, only its mean matters to first order in h.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, ClassVar, Self, final

import jax
import jax.numpy as jnp
import numpy as np


class AbstractCorrection(ABC):
    """Covariance V of the gradient noise in the preconditioner's coordinates, at T = 1.

    Attributes:
        variances: eigenvalues of V, (d,).
        axes: eigenvectors of V, the columns of (d, d); None if V is diagonal.
    """

    variances: jax.Array
    axes: Any

    @property
    @abstractmethod
    def largest(self) -> jax.Array:
        """The largest eigenvalue of V."""

    @abstractmethod
    def reduce(self, increment: jax.Array, heating: Callable[[jax.Array], jax.Array]) -> jax.Array:
        """Return C dW; `heating` maps eigenvalues of V to shares of the increment's variance."""

    @abstractmethod
    def diagonal(self) -> "DiagonalCorrection":
        """Return the diagonal of V."""

    def at_temperature(self, temperature: float) -> Self:
        """Return the correction V / T, for gradient noise of covariance V at temperature T."""
        assert is_dataclass(self)
        return replace(self, variances=self.variances / temperature)

    @abstractmethod
    def along(self, axes: np.ndarray | None) -> np.ndarray:
        """Return the variances of V along orthonormal axes, in double precision.

        Args:
            axes: the columns of (d, d); None for the coordinate axes.
        """


@final
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DiagonalCorrection(AbstractCorrection):
    """V as its diagonal, (d,)."""

    variances: jax.Array
    axes: ClassVar[Any] = None

    @property
    def largest(self) -> jax.Array:
        """The largest variance."""
        return jnp.max(self.variances)

    def reduce(self, increment: jax.Array, heating: Callable[[jax.Array], jax.Array]) -> jax.Array:
        """Return the increment, reduced in each coordinate by its gradient noise."""
        return _remainder(heating(self.variances)) * increment

    def diagonal(self) -> "DiagonalCorrection":
        """Return the correction itself."""
        return self

    def along(self, axes: np.ndarray | None) -> np.ndarray:
        """Return the diagonal of axes' V axes."""
        variances = np.asarray(self.variances, np.float64)
        return variances if axes is None else (np.asarray(axes, np.float64) ** 2).T @ variances


@final
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DenseCorrection(AbstractCorrection):
    """V as its eigenvalues, (d,), and eigenvectors, the columns of (d, d)."""

    variances: jax.Array
    axes: jax.Array

    @property
    def largest(self) -> jax.Array:
        """The largest eigenvalue."""
        return jnp.max(self.variances)

    def reduce(self, increment: jax.Array, heating: Callable[[jax.Array], jax.Array]) -> jax.Array:
        """Return the increment, reduced along each eigenvector by its gradient noise."""
        return self.axes @ (_remainder(heating(self.variances)) * (self.axes.T @ increment))

    def diagonal(self) -> DiagonalCorrection:
        """Return the diagonal of V."""
        return DiagonalCorrection(self.axes**2 @ self.variances)

    def along(self, axes: np.ndarray | None) -> np.ndarray:
        """Return the diagonal of axes' V axes."""
        own = np.asarray(self.axes, np.float64)
        cosines = own if axes is None else np.asarray(axes, np.float64).T @ own
        return cosines**2 @ np.asarray(self.variances, np.float64)


def _remainder(share: jax.Array) -> jax.Array:
    return jnp.sqrt(jnp.maximum(1.0 - share, 0.0))
