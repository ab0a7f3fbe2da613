"""Which keys a chain was given, so that the same run can be made again."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp


class GivenKeys(NamedTuple):
    """Keys that came from outside, as raw data (words,); they travel with the chain.

    They are part of the state, not of the kernel: NumPyro's `MCMC` puts a new key into the state
    of a run that is continued, and with parallel chains the kernel sees no concrete key.

    Attributes:
        first: what `init` was given.
        latest: what was put into the state last; `first` where nothing was.
        since: the number of iterations before it.
        count: how often a key was put into the state; -1 where that is no longer known.
        own: the chain's own key after its last iteration. Another one is a new one.
    """

    first: jax.Array
    latest: jax.Array
    since: jax.Array
    count: jax.Array
    own: jax.Array


def given_to_init(given: jax.Array, own: jax.Array) -> GivenKeys:
    """Return the record of a chain that begins with the key `given` and goes on with `own`."""
    data, zero = jax.random.key_data(given), jnp.zeros((), jnp.int32)
    return GivenKeys(data, data, zero, zero, jax.random.key_data(own))


def with_new_key(state: Any) -> Any:
    """Return the state of one chain before an iteration, with a key from outside recorded.

    Only the last words are compared, as an iteration of a small model takes microseconds; those of
    a new key and of the chain's own agree with probability 2^-32. A key of another implementation
    has another number of words and cannot be recorded: count is then -1.
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
    """Return the state of one chain after an iteration, with the key that it goes on with."""
    data = jax.random.key_data(state.rng_key)
    if data.shape != state.given_keys.own.shape:
        return state
    return state._replace(given_keys=state.given_keys._replace(own=data))
