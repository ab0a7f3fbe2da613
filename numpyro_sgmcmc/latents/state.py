"""The latents of all rows in the state of a chain."""

from typing import NamedTuple, Self

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.latents.blocks import in_blocks
from numpyro_sgmcmc.latents.columns import Columns, Row
from numpyro_sgmcmc.model.local import JointPotential


class LatentState(NamedTuple):
    """The latents of all rows, and what their moves and the gradient need.

    Attributes:
        rows: what is kept of each row, (N, W); its parts are properties of the same names as in
            `Row`.
        columns: where each part is.
        total: the sum of the table over rows, (d,) or (0,).
        step: the step size of the moves in units of L, ().
        wait: transitions until moments are kept, (), int32.
        moves: transitions since then, (), int32.
        acceptance: mean acceptance probability of the moves since then, (); for discrete latents
            alone the share of their elements that changed.
    """

    rows: jax.Array
    columns: Columns
    total: jax.Array
    step: jax.Array
    wait: jax.Array
    moves: jax.Array
    acceptance: jax.Array

    @property
    def values(self) -> jax.Array:
        """Continuous latents, unconstrained or in `in_coordinates`, (N, k)."""
        return self.columns.read(self.rows, "values")

    @property
    def discrete(self) -> jax.Array:
        """Discrete latents, (N, m)."""
        return self.columns.read(self.rows, "discrete")

    @property
    def table(self) -> jax.Array:
        """Gradients in z at the last visits, (N, d) or (N, 0)."""
        return self.columns.read(self.rows, "table")

    @property
    def factor(self) -> jax.Array:
        """Factors of the moves, (N, k, k)."""
        return self.columns.read(self.rows, "factor")

    @property
    def visits(self) -> jax.Array:
        """Moves of each row since moments are kept, (N,)."""
        return self.columns.read(self.rows, "visits")

    @property
    def mean(self) -> jax.Array:
        """Means over the visits, (N, w)."""
        return self.columns.read(self.rows, "mean")

    @property
    def square(self) -> jax.Array:
        """Sums of squared deviations, (N, v)."""
        return self.columns.read(self.rows, "square")

    def having(self, **parts: jax.Array) -> Self:
        """Return the state with other parts of all rows, named as in `Row`."""
        row = self.columns.unpacked(self.rows)._replace(**parts)
        columns = Columns.of(row)
        return self._replace(rows=columns.packed(row), columns=columns)


def first_state(
    potential: JointPotential,
    position: jax.Array,
    values: jax.Array,
    factor: jax.Array,
    step: jax.Array,
    discrete: jax.Array | None = None,
    has_table: bool = True,
) -> LatentState:
    """Return the state of a chain at `position`, with these latents, before any move."""
    size, local = len(values), potential.structure.local
    given = local.some_discrete(size) if discrete is None else discrete
    table = jnp.zeros((size, 0), values.dtype)
    if has_table:
        table = row_gradients(potential, position, values, given)
    row = Row(
        values=values,
        discrete=given,
        table=table,
        factor=factor,
        visits=jnp.zeros(size, jnp.int32),
        mean=jnp.zeros((size, local.averages), values.dtype),
        square=jnp.zeros((size, local.moments), values.dtype),
    )
    columns, none = Columns.of(row), jnp.zeros((), jnp.int32)
    return LatentState(
        rows=columns.packed(row),
        columns=columns,
        total=table.sum(0),
        step=step,
        wait=none,
        moves=none,
        acceptance=jnp.zeros((), values.dtype),
    )


def row_gradients(
    potential: JointPotential,
    position: jax.Array,
    values: jax.Array,
    discrete: jax.Array | None = None,
) -> jax.Array:
    """Return the gradient in z of u_i(z, a_i) for all rows, (N, d)."""

    @jax.vmap
    def of_rows(latents: jax.Array, row: jax.Array, given: jax.Array) -> jax.Array:
        return jax.grad(potential.row, has_aux=True)(position, latents, row, given)[0]

    local, size = potential.structure.local, len(values)
    given = local.some_discrete(size) if discrete is None else discrete
    return in_blocks(of_rows, values, jnp.arange(size), given)
