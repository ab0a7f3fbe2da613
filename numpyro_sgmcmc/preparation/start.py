"""Starts of searches and chains: finite positions, given or drawn by a NumPyro strategy."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.flatten_util import ravel_pytree
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer import init_to_uniform

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.model.handlers import with_minibatch
from numpyro_sgmcmc.preparation.params import flatten_params
from numpyro_sgmcmc.preparation.refusal import check_start
from numpyro_sgmcmc.preparation.request import Request
from numpyro_sgmcmc.preparation.start_thresholds import MAX_TRIES, SHRINKAGE
from numpyro_sgmcmc.preparation.target import Target, View


def several_keys(first: jax.Array, others: jax.Array, count: int) -> jax.Array:
    """Return keys (count,): the first one, and those that a second key is split into."""
    if count == 1:
        return first[None]
    keys = [first, *random.keys_of(others, count - 1)]
    words = jnp.asarray(np.stack([np.asarray(jax.random.key_data(key)) for key in keys]))
    return jax.random.wrap_key_data(words, impl=jax.random.key_impl(first))


def find_starts(target: Target, keys: jax.Array, strategy: Callable, request: Request) -> jax.Array:
    """Return the finite flat positions at which searches begin, (searches, d).

    It is the first chain's `init_params` if they are given, else a draw of the strategy for each
    key. A draw that is not finite is replaced by the first.

    Raises:
        ValueError: if the position is not finite; see `check_start`.
    """
    params = request.init_params
    if params is None or isinstance(ravel_pytree(params)[0], Tracer):
        name = (draw_start, strategy)
        starts, finite = target.run(partial(_drawn, strategy), keys, name=name, optimise=False)
    else:
        first = params if request.is_single else jax.tree.map(lambda x: x[0], params)
        position = flatten_params(target.structure, first, "init_params")
        starts = position[None]
        finite = target.run(is_finite_start, keys[0], position, optimise=False)
    if not isinstance(finite, Tracer):
        check_start(target, np.asarray(starts)[0], bool(finite))
    return starts


def draw_start(view: View, strategy: Callable, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return a flat position drawn by a NumPyro init strategy, and whether it is a finite start.

    Tries up to 100 times to find one. With `init_to_uniform` the interval shrinks from try to try,
    to a hundredth of its length, because exponentials of many coordinates overflow in most of it.
    """
    flat = ravel_pytree(view.structure.prototype)[0]

    def attempt(carry: tuple) -> tuple:
        key, _, _, tries = carry
        key, key_start, key_batch = random.split(key, 3)
        position = proposal(view, strategy, key_start)
        if strategy is init_to_uniform:
            position *= SHRINKAGE**tries
        return key, position, is_finite_start(view, key_batch, position), tries + 1

    unfinished = lambda carry: ~carry[2] & (carry[3] < MAX_TRIES)  # noqa: E731
    first = (key, flat, jnp.zeros((), bool), jnp.zeros((), jnp.int32))
    return jax.lax.while_loop(unfinished, attempt, first)[1:3]


def proposal(view: View, strategy: Callable, key: jax.Array) -> jax.Array:
    """Return a flat position drawn by a NumPyro init strategy, finite or not."""
    if strategy is init_to_uniform:
        flat = ravel_pytree(view.structure.prototype)[0]
        return random.uniform(key, flat.shape, flat.dtype, minval=-2.0, maxval=2.0)
    return ravel_pytree(_from_strategy(view, strategy, key))[0]


def is_finite_start(view: View, key: jax.Array, position: jax.Array) -> jax.Array:
    """Return whether a minibatch's potential and gradient are finite at a position."""
    energy, gradient = jax.value_and_grad(view.potential)(position, view.draw(key))
    return jnp.isfinite(energy) & jnp.all(jnp.isfinite(gradient))


def _from_strategy(view: View, strategy: Callable, key: jax.Array) -> dict[str, jax.Array]:
    structure = view.structure
    key_model, key_batch = random.split(key)
    model = with_minibatch(
        structure.model, structure.fixed, view.draw(key_batch).indices, key_model
    )
    model = handlers.substitute(model, substitute_fn=strategy)
    trace = handlers.trace(model).get_trace(*view.args, **view.kwargs)
    return {
        name: biject_to(trace[name]["fn"].support).inv(trace[name]["value"])
        for name in structure.prototype
    }


def _drawn(strategy: Callable, view: View, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return a start for each key, (searches, d), and whether the first one is finite."""
    starts, finite = jax.vmap(partial(draw_start, view, strategy))(keys)
    return jnp.where(finite[:, None], starts, starts[0]), finite[0]
