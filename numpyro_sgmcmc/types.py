"""Types that several parts use."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeAlias

import jax

Indices: TypeAlias = dict[str, jax.Array]
"""The rows of a minibatch by plate name."""


class Plate(NamedTuple):
    """A subsampled plate: its number of rows, and the number of rows in a minibatch."""

    size: int
    subsample_size: int


class Minibatch(NamedTuple):
    """What an evaluation is made of, besides the position.

    Attributes:
        indices: the rows.
        key: a key for models whose density is random, or None.
        age: how many transitions ago the position was needed at which the gradient is taken, ();
            None if gradients are never old.
    """

    indices: Indices
    key: jax.Array | None = None
    age: jax.Array | None = None


StochasticPotential: TypeAlias = Callable[[jax.Array, Minibatch], jax.Array]
"""(flat position (d,), minibatch) -> an unbiased estimate of the whole data set's potential U."""


class WholeData(Protocol):
    """Exact values of a potential, from passes over all rows in blocks of bounded memory."""

    @property
    def plates(self) -> dict[str, Plate]:
        """The subsampled plates by name."""
        ...

    def value_and_grad(self, position: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return U, shape (), and grad U, shape (d,)."""
        ...

    def row_gradients(self, position: jax.Array) -> jax.Array:
        """Return the gradient for each row as a minibatch of one, (N, d). Their mean is grad U.

        The model must have exactly one subsampled plate.
        """
        ...
