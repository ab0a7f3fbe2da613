"""Vectorised chains, with their own and their shared parts of the state."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from numpyro.util import is_prng_key

from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.state import Companion


def over_chains(advance: Callable[[Any], Any], state: Any, scheme: AbstractMinibatch) -> Any:
    """Apply `advance` to the state of one chain, or to each of several along a leading axis.

    If the minibatch scheme is shared, all chains use the iteration count and the minibatch state of
    the first chain. `vmap` then draws one minibatch, and raises an error if it depends on a chain.
    """
    if is_prng_key(state.rng_key):
        return advance(state)
    if not scheme.is_shared:
        return jax.vmap(advance)(state)
    chains, axes = len(state.i), _axes(state)
    together = _with_shared(state, lambda leaf: leaf[0])
    moved = jax.vmap(advance, in_axes=(axes,), out_axes=axes)(together)
    return _with_shared(moved, lambda leaf: jnp.broadcast_to(leaf, (chains, *leaf.shape)))


def _axes(state: Any) -> Any:
    """Return the axes of a state's fields for `vmap`; None for the fields that chains share."""
    companions = dict.fromkeys(state.companions, Companion(0, 0, 0, None))
    return type(state)(*[0] * len(state))._replace(i=None, minibatch=None, **companions)


def _with_shared(state: Any, change: Callable[[jax.Array], jax.Array]) -> Any:
    """Return the state with `change` applied to the arrays that chains share."""
    changed = lambda tree: jax.tree.map(change, tree)  # noqa: E731
    companions = {
        name: companion._replace(minibatch=changed(companion.minibatch))
        for name, companion in state.companions.items()
    }
    return state._replace(i=change(state.i), minibatch=changed(state.minibatch), **companions)
