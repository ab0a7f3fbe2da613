"""Types that the parts share."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

import jax

Indices: TypeAlias = dict[str, jax.Array]
"""The rows of a minibatch by plate name."""


class Plate(NamedTuple):
    """A subsampled plate: how many rows it has, and how many of them a minibatch holds."""

    size: int
    subsample_size: int


class Minibatch(NamedTuple):
    """The rows that an evaluation sees, and a key for densities that are themselves random."""

    indices: Indices
    key: jax.Array | None = None


StochasticPotential: TypeAlias = Callable[[jax.Array, Minibatch], jax.Array]
"""(flat position (d,), minibatch) -> an unbiased estimate of the whole data set's potential U."""


class WholeData(Protocol):
    """Exact values of a model's potential: passes over all rows, in blocks of bounded memory."""

    @property
    def plates(self) -> dict[str, Plate]:
        """The subsampled plates by name."""
        ...

    def value_and_grad(self, position: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return U, shape (), and grad U, shape (d,)."""
        ...

    def row_gradients(self, position: jax.Array) -> jax.Array:
        """Return the gradient of each row's minibatch of one, (N, d): their mean is grad U.

        For models with one subsampled plate.
        """
        ...
