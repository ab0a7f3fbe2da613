"""What a state keeps of a minibatch whose rows were moved."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.latents.columns import Row
from numpyro_sgmcmc.latents.moves import Visited
from numpyro_sgmcmc.latents.state import LatentState
from numpyro_sgmcmc.model.local import Local, statistics


class Opened(NamedTuple):
    """Rows of a minibatch, read from the state.

    Attributes:
        rows: their numbers, (B,).
        read: what the state has of them, (B, W).
        row: the same by its parts.
        is_own: whether a place of the minibatch stands for its row, (B,): one place of each row
            does, also of a row that is drawn twice.
        marked: the array of all rows, in which the visits of these rows hold places of the
            minibatch.
    """

    rows: jax.Array
    read: jax.Array
    row: Row
    is_own: jax.Array
    marked: jax.Array


def opened(state: LatentState, rows: jax.Array) -> Opened:
    """Return what the state has of rows, each of which one place of the minibatch stands for.

    The column of visits tells which: of the places that are written there, one is left.
    """
    read, column = jax.lax.optimization_barrier(state.rows[rows]), state.columns.visits
    places = jnp.arange(len(rows), dtype=read.dtype)
    # Where a row is written depends on what was read, or XLA would copy all rows at each step.
    at = jnp.where(read[:, column] >= 0, rows, len(state.rows))
    marked = state.rows.at[at, column].set(places, mode="drop")
    is_own = marked[rows, column] == places
    return Opened(rows, read, state.columns.unpacked(read), is_own, marked)


def recorded(
    local: Local,
    state: LatentState,
    given: Opened,
    counts: jax.Array,
    after: Visited,
    chance: jax.Array,
) -> LatentState:
    """Return the state with the rows as they are after their moves.

    A row that is drawn twice counts once, and a row whose gradient is not finite not at all: it
    keeps all that it had.
    """
    before = given.row
    is_kept = state.wait <= 0
    seen = jnp.where(is_kept, 1, 0)
    visits = before.visits + seen
    values, first = statistics(local, after.values, after.discrete), local.moments
    deviation = values - before.mean
    share = seen / jnp.maximum(visits, 1)[:, None]
    mean = before.mean + share * deviation
    product = deviation[:, :first] * (values - mean)[:, :first]
    square = before.square + seen * product
    moves = state.moves + seen
    rate = jnp.mean(chance) - state.acceptance
    moved = Row(after.latents, after.discrete, after.slope, before.factor, visits, mean, square)
    written = jnp.where(counts[:, None], state.columns.packed(moved), given.read)
    at = jnp.where(given.is_own, given.rows, len(state.rows))  # Others are written nowhere.
    return state._replace(
        rows=given.marked.at[at].set(written, mode="drop"),
        wait=jnp.maximum(state.wait - 1, 0),
        moves=moves,
        acceptance=state.acceptance + seen * rate / jnp.maximum(moves, 1),
    )
