"""What a verdict needs to know of a run whose model has latents of rows."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents import LatentState, laplace_rows
from numpyro_sgmcmc.latents.moves import moved, visited
from numpyro_sgmcmc.preparation import Target, View
from numpyro_sgmcmc.preparation.latents import (
    Walkers,
    potential_of,
    second_order,
    table_noise,
    typical,
)
from numpyro_sgmcmc.preparation.noise import Noise

MOVES = 4
"""Moves of a row's latents at a draw before its gradient is averaged, over as many further ones."""

NEWTON_STEPS = 8
"""Newton steps of a row's latents at a draw, from those that a chain ended with. Latents that do
not follow the draw would show the curvature given the latents instead of the marginal one."""

COST = 4 * NEWTON_STEPS + 2 * MOVES + 1
"""About how many gradients of a row its latents take at a draw, with one latent."""


class Conditional(NamedTuple):
    """What limits the step of shared parameters given the latents, in a map's coordinates.

    Attributes:
        noise: of the gradient estimates at the chains' last states.
        curvature: the largest curvature given the latents there.
    """

    noise: Noise
    curvature: float


def marginal_gradients(
    target: Target, key: jax.Array, points: jax.Array, states: LatentState, budget: int
) -> np.ndarray:
    """Return unbiased estimates of the gradient of -log p(z, y) at points (n, d).

    By Fisher's identity it is the mean of the gradient of the joint potential over p(a | z, y). At
    each point the latents of some rows, all rows where the budget allows, are drawn from their
    Laplace approximations and moved; their gradients are averaged over the later half of the moves.

    Args:
        target: the model bound to its data.
        key: key of rows and moves.
        points: positions of the shared parameters, (n, d).
        states: the chains' last states, (chains, ...).
        budget: of gradients of single rows.
    """
    local = target.structure.local
    assert local is not None
    affordable = budget // (len(points) * COST)
    count = int(np.clip(affordable, 1, local.rows))

    def marginal(view: View, key: jax.Array, points: jax.Array, states: LatentState) -> jax.Array:
        one = partial(_gradient, view, states, count)
        return jax.lax.map(one, (points, random.split(key, len(points))))

    found = target.run(marginal, key, points, states, name=("marginal gradients", count))
    return np.asarray(found, np.float64)


def _gradient(
    view: View, states: LatentState, count: int, inputs: tuple[jax.Array, jax.Array]
) -> jax.Array:
    position, key = inputs
    key_rows, key_chain, key_noise, key_moves = random.split(key, 4)
    potential, local = potential_of(view), view.structure.local
    assert local is not None
    rows = view.many_rows(key_rows, count).indices[local.plate]
    chain = jax.random.randint(key_chain, (), 0, len(states.step))
    values, step = states.values[chain], states.step[chain]
    found = laplace_rows(potential, position, values[rows], rows, NEWTON_STEPS)
    noise = random.normal(key_noise, found.latents.shape, found.latents.dtype)
    drawn = found.latents + jnp.einsum("bij,bj->bi", found.factor, noise)
    first = visited(potential, position, drawn, rows)

    def body(number: jax.Array, carry: tuple) -> tuple:
        before, total = carry
        own = random.fold_in(key_moves, number)
        after, _ = moved(potential, position, before, rows, found.factor, step, own)
        counts = number >= MOVES
        return after, total + jnp.where(counts, after.slope.sum(0), 0.0)

    total = jnp.zeros_like(position)
    _, total = jax.lax.fori_loop(0, 2 * MOVES, body, (first, total))
    share = local.rows / len(rows)
    return jax.grad(potential.shared)(position) + share * total / MOVES


def conditional(
    target: Target, key: jax.Array, linear: Any, positions: jax.Array, states: LatentState
) -> Conditional:
    """Return noise and curvature given the latents, at the chains' last positions, (chains, d)."""
    keys = jax.random.split(key, len(positions))
    name = "conditional", jax.tree.structure(linear)
    noise, curvature = target.run(_conditional, linear, positions, states, keys, name=name)
    return Conditional(noise, float(curvature))


def _conditional(
    view: View, linear: Any, positions: jax.Array, states: LatentState, keys: jax.Array
) -> tuple[Noise, jax.Array]:
    noise = table_noise(view, linear, Walkers(positions, states), keys)
    potential = potential_of(view)
    given = positions, states.values
    hessians = jax.lax.map(lambda one: second_order(potential, *one)[2], given)
    return noise, typical(hessians, linear).largest
