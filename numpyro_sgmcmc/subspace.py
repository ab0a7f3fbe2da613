"""A few directions in many dimensions: single coordinates, and weighted means of arrays."""

from dataclasses import dataclass
from typing import NamedTuple, Self, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.pytree import as_pytree


class Group(NamedTuple):
    """Consecutive coordinates of a position that are an array (rows, size / rows).

    Attributes:
        size: number of coordinates.
        directions: one for each column of the array, the weighted mean over its rows; or 0.
    """

    size: int
    directions: int


@final
@as_pytree(static=("groups",))
@dataclass(frozen=True)
class Subspace:
    """Orthonormal directions, the columns of P (d, r).

    Products with P cost O(d), because no coordinate belongs to more than one direction.

    Attributes:
        weights: the only entry of each row of P that may differ from 0, (d,).
        groups: the position's coordinates in their order.
    """

    weights: jax.Array
    groups: tuple[Group, ...]

    @classmethod
    def of(cls, groups: tuple[Group, ...], weights: jax.Array) -> Self:
        """Return the subspace whose directions are proportional to these positive weights, (d,)."""
        plain = cls(weights, groups)
        length = jnp.sqrt(plain._sums(weights**2))
        return cls(weights * plain._spread(1.0 / length), groups)

    @property
    def size(self) -> int:
        """The number r of directions."""
        return sum(group.directions for group in self.groups)

    def coordinates(self, y: jax.Array) -> jax.Array:
        """Return P' y, (r,)."""
        return self._sums(self.weights * y)

    def vector(self, coordinates: jax.Array) -> jax.Array:
        """Return P c, (d,)."""
        return self.weights * self._spread(coordinates)

    def means(self, y: jax.Array) -> jax.Array:
        """Return the means of y over each direction, weighted by the squares of P, (r,)."""
        return self._sums(self.weights**2 * y)

    def squares(self, variances: jax.Array) -> jax.Array:
        """Return the diagonal of P diag(variances) P', (d,)."""
        return self.weights**2 * self._spread(variances)

    def outside(self, y: jax.Array) -> jax.Array:
        """Return y - P P' y, (d,)."""
        return y - self.vector(self.coordinates(y))

    def diagonal_outside(self, variances: jax.Array) -> jax.Array:
        """Return the diagonal of (I - P P') diag(variances) (I - P P'), (d,)."""
        squares = self.weights**2
        alone = jnp.concatenate([jnp.full(g.size, g.size == g.directions) for g in self.groups])
        found = variances * (1.0 - 2.0 * squares) + squares * self._spread(self.means(variances))
        return jnp.where(alone, 0.0, found)

    def _sums(self, y: jax.Array) -> jax.Array:
        parts, start = [], 0
        for size, directions in self.groups:
            if directions:
                part = y[start : start + size]
                if directions < size:
                    part = part.reshape(-1, directions).sum(0)
                parts.append(part)
            start += size
        return jnp.concatenate(parts)

    def _spread(self, c: jax.Array) -> jax.Array:
        parts, start = [], 0
        for size, directions in self.groups:
            part = c[start : start + directions]
            if not directions:
                part = jnp.zeros(size, c.dtype)
            elif directions < size:
                part = jnp.broadcast_to(part, (size // directions, directions)).reshape(-1)
            parts.append(part)
            start += directions
        return jnp.concatenate(parts)
