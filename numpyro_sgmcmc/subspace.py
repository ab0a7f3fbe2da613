"""A few directions in many dimensions: single coordinates, and weighted means of arrays."""

from dataclasses import dataclass, replace
from typing import NamedTuple, Self, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu.sums import column_sums
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

    Products with the directions of the groups cost O(d), because no coordinate belongs to more than
    one of them. Others, if there are any, follow as rows of a matrix.

    Attributes:
        weights: the only entry of each row of P in the directions of the groups that may differ
            from 0, (d,).
        groups: the position's coordinates in their order.
        others: further directions, (k, d), or None.
    """

    weights: jax.Array
    groups: tuple[Group, ...]
    others: jax.Array | None = None

    @classmethod
    def of(cls, groups: tuple[Group, ...], weights: jax.Array) -> Self:
        """Return the subspace whose directions are proportional to these positive weights, (d,)."""
        plain = cls(weights, groups)
        length = jnp.sqrt(plain._sums(weights**2))
        return cls(weights * plain._spread(1.0 / length), groups)

    def extended(self, others: jax.Array) -> Self:
        """Return the subspace with further directions, the rows of (k, d).

        They must be linearly independent of each other and of those of the groups.
        """
        alone = self.diagonal_outside(jnp.ones_like(self.weights)) == 0
        rest = jnp.where(alone, 0.0, jax.vmap(self.outside)(others))
        return replace(self, others=jnp.linalg.qr(rest.T)[0].T)

    @property
    def size(self) -> int:
        """The number r of directions."""
        several = 0 if self.others is None else len(self.others)
        return self._own + several

    def coordinates(self, y: jax.Array) -> jax.Array:
        """Return P' y, (r,)."""
        own = self._sums(self.weights * y)
        return own if self.others is None else jnp.concatenate([own, self.others @ y])

    def vector(self, coordinates: jax.Array) -> jax.Array:
        """Return P c, (d,)."""
        own = self.weights * self._spread(coordinates[: self._own])
        return own if self.others is None else own + coordinates[self._own :] @ self.others

    def means(self, y: jax.Array) -> jax.Array:
        """Return the means of y over each direction, weighted by the squares of P, (r,)."""
        own = self._sums(self.weights**2 * y)
        return own if self.others is None else jnp.concatenate([own, self.others**2 @ y])

    def squares(self, variances: jax.Array) -> jax.Array:
        """Return the diagonal of P diag(variances) P', (d,)."""
        own = self.weights**2 * self._spread(variances[: self._own])
        return own if self.others is None else own + variances[self._own :] @ self.others**2

    def outside(self, y: jax.Array) -> jax.Array:
        """Return y - P P' y, (d,)."""
        return y - self.vector(self.coordinates(y))

    def diagonal_outside(self, variances: jax.Array) -> jax.Array:
        """Return the diagonal of (I - P P') diag(variances) (I - P P'), (d,)."""
        squares = self.weights**2
        alone = jnp.concatenate([jnp.full(g.size, g.size == g.directions) for g in self.groups])
        means = self._sums(squares * variances)
        found = variances * (1.0 - 2.0 * squares) + squares * self._spread(means)
        if self.others is not None:
            # With P = [G, Q] the sum over j of ((G G')_ij + (Q Q')_ij)^2 v_j has three parts.
            q = self.others
            both = jax.vmap(lambda x: self.weights * self._spread(self._sums(self.weights * x)))
            among = (q * variances) @ q.T
            found = found - 2.0 * variances * jnp.sum(q**2, axis=0)
            found = found + jnp.sum(q * (2.0 * both(q * variances) + among @ q), axis=0)
        return jnp.where(alone, 0.0, found)

    @property
    def _own(self) -> int:
        return sum(group.directions for group in self.groups)

    def _sums(self, y: jax.Array) -> jax.Array:
        parts, start = [], 0
        for size, directions in self.groups:
            if directions:
                part = y[start : start + size]
                if directions < size:
                    part = column_sums(part, directions)
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
