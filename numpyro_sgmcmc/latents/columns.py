"""What a chain keeps of a row, one number beside the other in one array of integers."""

from dataclasses import dataclass
from math import prod
from typing import NamedTuple, Self, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.pytree import as_pytree


class Row(NamedTuple):
    """What a chain keeps of some rows.

    Attributes:
        values: continuous latents, unconstrained or in `in_coordinates`, (N, k).
        discrete: discrete latents, (N, m), int32.
        table: gradient in z of each row's u_i when it was last visited, (N, d); (N, 0) without a
            table.
        factor: L of each row, with L L' about the covariance of its latents given z, (N, k, k).
        visits: moves of each row since moments are kept, (N,), int32.
        mean: mean of a row's values and indicators over its visits (`statistics`), (N, w).
        square: sum of the values' squared deviations from their mean, (N, v).
    """

    values: jax.Array
    discrete: jax.Array
    table: jax.Array
    factor: jax.Array
    visits: jax.Array
    mean: jax.Array
    square: jax.Array


@final
@as_pytree(static=("shapes", "dtype"))
@dataclass(frozen=True)
class Columns:
    """The columns of an array (N, W) that holds what is kept of all rows.

    The numbers of a row are neighbours in memory. A visit of a random row among very many waits for
    memory once or twice, and not once for each number. Real numbers are kept as integers with the
    same bits.

    Attributes:
        shapes: of each field of `Row` without its axis of rows.
        dtype: name of the type of real numbers.
    """

    shapes: tuple[tuple[int, ...], ...]
    dtype: str

    @classmethod
    def of(cls, row: Row) -> Self:
        """Return the columns for arrays of these shapes and types."""
        return cls(tuple(x.shape[1:] for x in row), str(row.values.dtype))

    @property
    def visits(self) -> int:
        """The place of the column with the number of visits."""
        return self._first("visits")

    def packed(self, row: Row) -> jax.Array:
        """Return the array, (N, W), int32 or int64."""
        parts = [self._bits(x).reshape(len(x), -1) for x in row]
        return jnp.concatenate(parts, axis=1)

    def unpacked(self, rows: jax.Array) -> Row:
        """Return the fields of an array (..., W)."""
        return Row(*(self.read(rows, name) for name in Row._fields))

    def read(self, rows: jax.Array, name: str) -> jax.Array:
        """Return a field of an array (..., W)."""
        first, shape = self._first(name), self.shapes[Row._fields.index(name)]
        part = rows[..., first : first + prod(shape)].reshape(*rows.shape[:-1], *shape)
        if name in ("discrete", "visits"):
            return part.astype(jnp.int32)
        return jax.lax.bitcast_convert_type(part, jnp.dtype(self.dtype))

    def _first(self, name: str) -> int:
        return sum(prod(shape) for shape in self.shapes[: Row._fields.index(name)])

    def _bits(self, array: jax.Array) -> jax.Array:
        kind = jnp.dtype(f"int{8 * jnp.dtype(self.dtype).itemsize}")
        if jnp.issubdtype(array.dtype, jnp.integer):
            return array.astype(kind)
        return jax.lax.bitcast_convert_type(array, kind)
