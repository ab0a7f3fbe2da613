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
    chains = len(state.i)
    axes = _replaced(type(state)(*[0] * len(state)), state, lambda _: None)
    together = _replaced(state, state, lambda tree: jax.tree.map(lambda leaf: leaf[0], tree))
    moved = jax.vmap(advance, in_axes=(axes,), out_axes=axes)(together)
    return _replaced(
        moved,
        moved,
        lambda tree: jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (chains, *leaf.shape)), tree),
    )


def _replaced(target: Any, state: Any, change: Callable[[Any], Any]) -> Any:
    """Return the target with what is shared, of `state`, changed."""
    others = {}
    for name in ("coarse", "middle"):  # Richardson-Romberg's other walkers
        companion = getattr(state, name, None)
        if isinstance(companion, Companion):
            own = getattr(target, name)
            own = own if isinstance(own, Companion) else Companion(0, 0, 0, 0)
            others[name] = own._replace(minibatch=change(companion.minibatch))
    return target._replace(i=change(state.i), minibatch=change(state.minibatch), **others)
