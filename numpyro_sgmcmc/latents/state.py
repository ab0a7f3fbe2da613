"""The latents of all rows in the state of a chain."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.model.local import JointPotential

ROWS_AT_ONCE = 4_096
"""Rows that a pass over all rows takes together."""


class LatentState(NamedTuple):
    """The latents of all rows, and what their moves and the gradient need.

    Attributes:
        values: unconstrained continuous latents, (N, k).
        discrete: discrete latents, (N, m), int32.
        table: gradient in z of each row's u_i when it was last visited, (N, d); (N, 0) without a
            table.
        total: the sum of the table over rows, (d,) or (0,).
        factor: L of each row, with L L' about the covariance of its latents given z, (N, k, k).
        step: the step size of the moves in units of L, ().
        claims: the place in the last minibatch from which each row was moved, (N,), int32.
        wait: transitions until moments are kept, (), int32.
        visits: moves of each row since then, (N,), int32.
        mean: mean of a row's values and indicators over its visits (`statistics`), (N, w).
        square: sum of the values' squared deviations from their mean, (N, v).
        moves: transitions since then, (), int32.
        acceptance: mean acceptance probability of the moves since then, (); for discrete latents
            alone the share of their elements that changed.
    """

    values: jax.Array
    discrete: jax.Array
    table: jax.Array
    total: jax.Array
    factor: jax.Array
    step: jax.Array
    claims: jax.Array
    wait: jax.Array
    visits: jax.Array
    mean: jax.Array
    square: jax.Array
    moves: jax.Array
    acceptance: jax.Array


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
    zero = jnp.zeros((), jnp.int32)
    return LatentState(
        values=values,
        discrete=given,
        table=table,
        total=table.sum(0),
        factor=factor,
        step=step,
        claims=jnp.zeros(size, jnp.int32),
        wait=zero,
        visits=jnp.zeros(size, jnp.int32),
        mean=jnp.zeros((size, local.averages), values.dtype),
        square=jnp.zeros((size, local.moments), values.dtype),
        moves=zero,
        acceptance=jnp.zeros((), values.dtype),
    )


def row_gradients(
    potential: JointPotential,
    position: jax.Array,
    values: jax.Array,
    discrete: jax.Array | None = None,
) -> jax.Array:
    """Return the gradient in z of u_i(z, a_i) for all rows, (N, d)."""

    def of_row(inputs: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        return jax.grad(potential.row, has_aux=True)(position, *inputs)[0]

    if discrete is None:
        discrete = potential.structure.local.some_discrete(len(values))
    inputs = values, jnp.arange(len(values)), discrete
    return jax.lax.map(of_row, inputs, batch_size=min(ROWS_AT_ONCE, len(values)))
