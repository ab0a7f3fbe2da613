"""Starts of walkers that settle: positions, and latents of all rows or of a sample."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents.blocks import drawn_in_blocks
from numpyro_sgmcmc.preparation.latents.moves import check_move
from numpyro_sgmcmc.preparation.latents.potential import potential_of
from numpyro_sgmcmc.preparation.latents.sweep import Swept, sweep
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.params import flatten_params
from numpyro_sgmcmc.preparation.request import Request
from numpyro_sgmcmc.preparation.start import proposal
from numpyro_sgmcmc.preparation.target import Target, View

TRIES = 20
"""Starts that are tried until the first sweep is finite."""


def spread(view: View, key: jax.Array, walker: Swept, rows: jax.Array) -> Swept:
    """Return a walker with latents of all rows, from one with those of some."""
    local, position = view.structure.local, walker.position
    assert local is not None
    size, dimension, dtype = local.rows, local.dimension, position.dtype
    discrete = local.some_discrete(size)
    if local.discrete:
        discrete = _from_prior(view, key, position, rows)
    return walker._replace(
        values=jnp.zeros((size, dimension), dtype).at[walker.rows].set(walker.values),
        discrete=discrete.at[walker.rows].set(walker.discrete),
        factor=jnp.zeros((size, dimension, dimension), dtype),
        rows=rows,
    )


def started(
    target: Target, key: jax.Array, options: Options, request: Request, rows: jax.Array
) -> Swept:
    """Return a walker with some rows at a start whose first sweep is finite.

    Raises:
        ValueError: if there is none.
    """
    local = target.structure.local
    assert local is not None
    for key_try in random.keys_of(key, TRIES):
        key_start, key_sweep = random.keys_of(key_try, 2)
        position = _first_position(target, key_start, options, request)
        discrete = local.some_discrete(len(rows))
        if local.discrete:
            key_sweep, key_prior, key_check = random.keys_of(key_sweep, 3)
            discrete = target.run(_from_prior, key_prior, position, rows, optimise=False)
            check_move(target, key_check, position, discrete, rows)
        size, dimension, d = len(rows), local.dimension, len(position)
        zeros: Any = partial(np.zeros, dtype=position.dtype)  # JAX would compile each shape.
        walker = Swept(
            position=position,
            values=zeros((size, dimension)),
            discrete=discrete,
            rows=rows,
            factor=zeros((size, dimension, dimension)),
            step=zeros(()) + 1,
            energy=zeros(()),
            hessian=zeros((d, d)),
            is_finite=zeros(()) > 0,
        )
        walker = target.run(sweep, key_sweep, walker)
        if bool(walker.is_finite):
            return walker
    raise ValueError(
        f"Expected a finite joint density of shared parameters and latents of rows at a start; got"
        f" none in {TRIES} tries. Pass `init_params` of the shared sites or an `init_strategy`"
        " inside the support, and check the data for NaN and extreme values."
    )


def first_latents(
    target: Target, key: jax.Array, options: Options, request: Request
) -> tuple[jax.Array, jax.Array]:
    """Return a start of the shared parameters, and discrete latents of all rows from their prior.

    A user's own move is tried there (`check_move`).
    """
    local = target.structure.local
    assert local is not None
    key_start, key_prior, key_check = random.keys_of(key, 3)
    position = _first_position(target, key_start, options, request)
    discrete, rows = local.some_discrete(local.rows), jnp.arange(local.rows)
    if local.discrete:
        discrete = target.run(_from_prior, key_prior, position, rows, optimise=False)
        check_move(target, key_check, position, discrete, rows)
    return position, discrete


def _first_position(
    target: Target, key: jax.Array, options: Options, request: Request
) -> jax.Array:
    """Return the first chain's `init_params` if they are given, else a draw of the strategy."""
    if request.init_params is not None:
        first = request.init_params
        if not request.is_single:
            first = jax.tree.map(lambda x: x[0], first)
        return flatten_params(target.structure, first, "init_params")
    strategy = options.init_strategy
    draw = partial(_start, strategy)
    return target.run(draw, key, name=(_start, strategy), optimise=False)


def _start(strategy, view: View, key: jax.Array) -> jax.Array:
    return proposal(view, strategy, key)


def _from_prior(view: View, key: jax.Array, position: jax.Array, numbers: jax.Array) -> jax.Array:
    """Return discrete latents of some rows, drawn from their prior in blocks."""

    def of_rows(key: jax.Array, at: jax.Array) -> jax.Array:
        return potential_of(view).drawn(key, position, numbers[at])

    return drawn_in_blocks(of_rows, key, len(numbers))
