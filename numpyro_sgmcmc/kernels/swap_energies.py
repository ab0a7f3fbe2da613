"""Differences of the potential between replicas: exact, or estimated from minibatches."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.kernels.swapping import LogRatio, from_estimates
from numpyro_sgmcmc.model import over_whole_data
from numpyro_sgmcmc.model.whole_data import BLOCK_SIZE
from numpyro_sgmcmc.preparation import View
from numpyro_sgmcmc.types import Minibatch


def whole_data_ratio(
    view: View, positions: jax.Array, rates: jax.Array, chains: int = 1
) -> LogRatio:
    """Return the exact log ratio of swaps, by a pass over all rows.

    Differences are taken in each block, before blocks are added, because U is large.

    Args:
        view: the model and its data.
        positions: of the replicas, (K, d).
        rates: 1 / T_k - 1 / T_(k+1), (K - 1,).
        chains: number of chains in the same pass, which share its memory.
    """
    difference = _differences(view, positions)
    rows = max(1, BLOCK_SIZE // (len(positions) * chains))
    found = over_whole_data(view.structure, lambda s: difference(Minibatch(s)), rows)
    return LogRatio(rates * found)


def minibatch_ratio(
    view: View, key: jax.Array, positions: jax.Array, rates: jax.Array, count: int
) -> LogRatio:
    """Return an estimate of the log ratio, from `count` independent minibatches.

    The replicas of all temperatures use the same rows.

    Args:
        view: the model and its data.
        key: key of the minibatches.
        positions: of the replicas, (K, d).
        rates: 1 / T_k - 1 / T_(k+1), (K - 1,).
        count: number m of minibatches.
    """
    difference = _differences(view, positions)
    keys = random.split(key, count)
    return from_estimates(jax.lax.map(lambda k: rates * difference(view.draw(k)), keys))


def _differences(view: View, positions: jax.Array) -> Callable[[Minibatch], jax.Array]:
    """Return the map from a minibatch to U(z_k) - U(z_(k+1)), (K - 1,)."""
    potential = view.potential

    def difference(minibatch: Minibatch) -> jax.Array:
        energies = jax.vmap(lambda z: potential(z, minibatch))(positions)
        return -jnp.diff(energies)

    return difference
