"""Vectorised chains: what each has for itself, and what all share."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from numpyro.util import is_prng_key

from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.state import Companion


def over_chains(advance: Callable[[Any], Any], state: Any, scheme: AbstractMinibatch) -> Any:
    """Return `advance` of a chain's state, or of each chain's, with a leading axis of chains.

    Under a scheme that is shared, iteration count and minibatch state of the first chain hold for
    all: `vmap` then draws one minibatch, and refuses to let it depend on a chain.
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
    """Return the axes of a state's fields for `vmap`: none where chains share a field."""
    companions = dict.fromkeys(state.companions, Companion(0, 0, 0, None))
    return type(state)(*[0] * len(state))._replace(i=None, minibatch=None, **companions)


def _with_shared(state: Any, change: Callable[[jax.Array], jax.Array]) -> Any:
    """Return the state with the arrays that chains share changed."""
    changed = lambda tree: jax.tree.map(change, tree)  # noqa: E731
    companions = {
        name: companion._replace(minibatch=changed(companion.minibatch))
        for name, companion in state.companions.items()
    }
    return state._replace(i=change(state.i), minibatch=changed(state.minibatch), **companions)
