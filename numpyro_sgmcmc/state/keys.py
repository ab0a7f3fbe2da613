"""A record of the keys that a chain was given, so that a run can be reproduced."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class GivenKeys(NamedTuple):
    """Keys that the user gave, as raw data (words,).

    They are part of the state, not of the kernel. NumPyro's `MCMC` sets a new key in the state when
    a run is continued, and with parallel chains the kernel has no concrete key.

    Attributes:
        first: the key that `init` was given.
        latest: the last key that was set in the state; `first` if none was.
        since: the number of iterations before `latest` was set.
        count: how often a key was set in the state; -1 if that is not known.
        own: the chain's own key after its last iteration. A different key in the state is new.
    """

    first: jax.Array
    latest: jax.Array
    since: jax.Array
    count: jax.Array
    own: jax.Array


def given_to_init(given: jax.Array, own: jax.Array) -> GivenKeys:
    """Return the record of a chain that was given the key `given` and continues with `own`."""
    data, zero = jax.random.key_data(given), jnp.zeros((), jnp.int32)
    return GivenKeys(data, data, zero, zero, jax.random.key_data(own))


def with_new_key(state: Any) -> Any:
    """Return the state of one chain before an iteration, with a new key recorded if there is one.

    Only the last words are compared, because an iteration of a small model takes microseconds. The
    last words of a new key and of the chain's own key agree with probability 2^-32. A key of
    another implementation has another number of words and cannot be recorded. `count` is then -1.
    """
    keys: GivenKeys = state.given_keys
    data = jax.random.key_data(state.rng_key)
    if data.shape != keys.own.shape:
        return state._replace(given_keys=keys._replace(count=jnp.full_like(keys.count, -1)))
    is_new = data[-1] != keys.own[-1]
    keys = keys._replace(
        latest=jnp.where(is_new, data, keys.latest),
        since=jnp.where(is_new, state.i, keys.since),
        count=keys.count + is_new.astype(jnp.int32),
    )
    return state._replace(given_keys=keys)


def with_own_key(state: Any) -> Any:
    """Return the state of one chain after an iteration, with its next key recorded as its own."""
    data = jax.random.key_data(state.rng_key)
    if data.shape != state.given_keys.own.shape:
        return state
    return state._replace(given_keys=state.given_keys._replace(own=data))
