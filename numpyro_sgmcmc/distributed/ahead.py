"""Keys of minibatches ahead of a chain: what a request needs of transitions to come."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.distributed.wire import kinds_of, unwrapped, wrapped
from numpyro_sgmcmc.stepper import Stepper

LENGTH = 256
"""Transitions whose keys are computed together, at least."""


class Ahead(NamedTuple):
    """Keys of some consecutive transitions.

    Attributes:
        first: number of the first of them.
        keys: data of the chain's key before each transition, and after the last, (n + 1, words).
        batches: data of the keys of their minibatches, (n, words).
        schemes: leaves of the minibatch scheme's states before them, and after, each (n + 1, ...).
    """

    first: int
    keys: np.ndarray
    batches: np.ndarray
    schemes: list[np.ndarray]

    def holds(self, step: int, count: int) -> bool:
        """Return whether it holds these transitions."""
        return self.first <= step and step + count <= self.first + len(self.batches)


@final
class KeyProgram:
    """The program that computes keys ahead, as the transitions themselves do later.

    Args:
        stepper: of a chain's transitions; the states of its minibatch scheme follow each other.
        state: a state of the chain, for the kinds of its key and of the scheme's state.
        length: number of transitions.
    """

    def __init__(self, stepper: Stepper, state: Any, length: int) -> None:
        kinds = kinds_of((state.rng_key, state.minibatch))
        self._tree = jax.tree.structure(state.minibatch)
        self._program: Callable = jax.jit(partial(_computed, stepper, kinds, length))

    def first(self, state: Any, step: int) -> Ahead:
        """Return the keys from a chain's next transition on, which has this number."""
        return self._ahead(step, *unwrapped((state.rng_key, state.minibatch)))

    def moved(self, ahead: Ahead, step: int) -> Ahead:
        """Return the keys from a transition on that is among these, or follows them."""
        place = step - ahead.first
        leaves = [leaf[place] for leaf in ahead.schemes]
        return self._ahead(step, ahead.keys[place], jax.tree.unflatten(self._tree, leaves))

    def _ahead(self, step: int, data: Any, scheme: Any) -> Ahead:
        keys, batches, schemes = jax.device_get(self._program(data, np.int32(step), scheme))
        return Ahead(step, keys, batches, jax.tree.leaves(schemes))


def _computed(
    stepper: Stepper, kinds: Any, length: int, data: jax.Array, step: jax.Array, scheme: Any
) -> Any:
    def body(carry: tuple[jax.Array, Any], count: jax.Array) -> Any:
        chain_key, state = wrapped(kinds, carry)
        key, _, key_batch = random.split(chain_key, 3)
        _, after = stepper.minibatch(key_batch, count, state)
        data, scheme = carry
        return unwrapped((key, after)), (data, unwrapped(key_batch), scheme)

    last, (keys, batches, schemes) = jax.lax.scan(body, (data, scheme), step + jnp.arange(length))
    joined = partial(jax.tree.map, lambda many, one: jnp.concatenate([many, one[None]]))
    return joined(keys, last[0]), batches, joined(schemes, last[1])
