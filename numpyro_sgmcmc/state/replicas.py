"""The state of a kernel with replicas at several temperatures, and the record of their swaps."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.state.data import DataTag
from numpyro_sgmcmc.state.keys import GivenKeys
from numpyro_sgmcmc.state.states import Companion
from numpyro_sgmcmc.state.tuned import Tuned


class Swaps(NamedTuple):
    """The record of swaps between K replicas. Pair k holds the temperatures k and k + 1.

    A label belongs to a position and moves with it. Labels are 0, ..., K - 1 at the start.

    Attributes:
        rounds: number of rounds of swaps, (), int32. Pairs 0, 2, ... and 1, 3, ... take turns.
        proposed: number of swaps proposed to each pair, (K - 1,), int32.
        accepted: number of swaps accepted, (K - 1,), int32.
        noise: mean variance of the noise in the log ratio of each pair, (K - 1,); 0 without noise.
        labels: of the positions at each temperature, the coldest first, (K,), int32.
        from_above: by label, whether the position was at the highest temperature since it was last
            at the lowest, (K,).
        round_trips: how often a position reached the lowest temperature from the highest, with
            any temperatures between, (), int32.
    """

    rounds: jax.Array
    proposed: jax.Array
    accepted: jax.Array
    noise: jax.Array
    labels: jax.Array
    from_above: jax.Array
    round_trips: jax.Array

    @property
    def rates(self) -> jax.Array:
        """Share of the proposed swaps that were accepted, by pair; NaN before the first."""
        return jnp.where(self.proposed > 0, self.accepted / self.proposed, jnp.nan)


def no_swaps(count: int, real: Any) -> Swaps:
    """Return the record of `count` replicas before their first swap."""
    pairs = jnp.zeros(count - 1, jnp.int32)
    return Swaps(
        rounds=jnp.zeros((), jnp.int32),
        proposed=pairs,
        accepted=pairs,
        noise=jnp.zeros(count - 1, real),
        labels=jnp.arange(count, dtype=jnp.int32),
        from_above=jnp.zeros(count, bool),
        round_trips=jnp.zeros((), jnp.int32),
    )


class ReplicaExchangeState(NamedTuple):
    """State of one chain of K replicas.

    The fields of `SGMCMCState` are those of the coldest replica. `diverging` tells whether a step
    of any replica was rejected.

    Attributes:
        replica: label of the position of the coldest replica.
        hot_positions: flat positions of the other replicas, the coldest of them first, (K - 1, d).
        hot: their other variables, with a leading axis of replicas.
        swaps: the record of swaps.
    """

    i: jax.Array
    z: dict[str, jax.Array]
    rng_key: jax.Array
    step_size: jax.Array
    weight: jax.Array
    potential_energy: jax.Array
    diverging: jax.Array
    num_diverging: jax.Array
    aux: Any
    gradient: Any
    minibatch: Any
    tuned: Tuned
    preconditioner: Any
    kinetic_temperature: jax.Array | None
    given_keys: GivenKeys
    data: DataTag
    replica: jax.Array
    hot_positions: jax.Array
    hot: Companion
    swaps: Swaps

    @property
    def companions(self) -> dict[str, Companion]:
        """Variables of the other replicas, by field name."""
        return {"hot": self.hot}
