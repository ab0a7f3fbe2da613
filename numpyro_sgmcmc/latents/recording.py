"""What a state keeps of a minibatch whose rows were moved."""

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.latents.moves import Visited
from numpyro_sgmcmc.latents.state import LatentState
from numpyro_sgmcmc.model.local import Local, statistics


def recorded(
    local: Local,
    state: LatentState,
    rows: jax.Array,
    counts: jax.Array,
    after: Visited,
    chance: jax.Array,
) -> LatentState:
    """Return the state with the rows as they are after their moves.

    A row that is drawn twice counts once, and a row whose gradient is not finite not at all: it
    keeps all that it had.
    """
    at = jnp.where(counts, rows, len(state.values))  # Others are written nowhere.
    is_kept = state.wait <= 0
    seen = jnp.where(is_kept, 1, 0)
    visits = state.visits[rows] + seen
    values, first = statistics(local, after.values, after.discrete), local.moments
    deviation = values - state.mean[rows]
    share = seen / jnp.maximum(visits, 1)[:, None]
    mean = state.mean[rows] + share * deviation
    product = deviation[:, :first] * (values - mean)[:, :first]
    square = state.square[rows] + seen * product
    moves = state.moves + seen
    rate = jnp.mean(chance) - state.acceptance
    return state._replace(
        values=state.values.at[at].set(after.latents, mode="drop"),
        discrete=state.discrete.at[at].set(after.discrete, mode="drop"),
        table=state.table.at[at].set(after.slope, mode="drop"),
        wait=jnp.maximum(state.wait - 1, 0),
        visits=state.visits.at[at].set(visits, mode="drop"),
        mean=state.mean.at[at].set(mean, mode="drop"),
        square=state.square.at[at].set(square, mode="drop"),
        moves=moves,
        acceptance=state.acceptance + seen * rate / jnp.maximum(moves, 1),
    )
