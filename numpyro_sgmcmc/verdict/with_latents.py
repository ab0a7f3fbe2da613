"""What a verdict needs to know of a run whose model has latents of rows."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.latents import LatentState, laplace_rows
from numpyro_sgmcmc.latents.moves import moved, moved_together, total_slope, visited
from numpyro_sgmcmc.preparation import Target, View
from numpyro_sgmcmc.preparation.latents import (
    Walkers,
    curvature_at_latents,
    noise_at_latents,
    potential_of,
    second_order,
    typical,
)
from numpyro_sgmcmc.preparation.noise import Noise
from numpyro_sgmcmc.preparation.thresholds import DENSE_DIMENSION
from numpyro_sgmcmc.verdict.at_points import with_keys
from numpyro_sgmcmc.verdict.gradients import POINTS
from numpyro_sgmcmc.verdict.row_integrals import (
    NEWTON_STEPS,
    NODES,
    OF_A_GRADIENT,
    cost_of,
    marginal_slopes,
    whole_slopes,
)
from numpyro_sgmcmc.verdict.thresholds import GRADIENT_ROWS

MOVES = 4
"""Moves of a row's latents at a draw before its gradient is averaged, over as many further ones."""

COST = 4 * NEWTON_STEPS + 2 * MOVES + 1
"""About how many gradients of a row its latents take at a draw, with one latent."""

FEWEST_ROWS = 50
"""Rows at a point at least, where gradients at the centre of the draws are a control variate."""

SWEEPS = 8
"""Sweeps over a row's discrete latents at a draw before its gradient is averaged, over as many
further ones."""


class Marginal(NamedTuple):
    """Estimates of the gradient of -log p(z, y) at points.

    Attributes:
        slopes: (n, d).
        gap: the difference between estimates from two starts of the moves of discrete latents, or
            by two rules of quadrature, (n, d); None where the estimates are unbiased without it.
    """

    slopes: np.ndarray
    gap: np.ndarray | None


class Conditional(NamedTuple):
    """What limits the step of shared parameters given the latents, in a map's coordinates.

    Attributes:
        noise: of the gradient estimates at the chains' last states.
        curvature: the largest curvature given the latents there.
    """

    noise: Noise
    curvature: float


def marginal_gradients(
    target: Target,
    key: jax.Array,
    points: np.ndarray,
    centre: jax.Array,
    states: LatentState,
    budget: int,
) -> Marginal:
    """Return estimates of the gradient of -log p(z, y) at points (n, d).

    By Fisher's identity it is the mean of the gradient of the joint potential over p(a | z, y). At
    each point the latents of all rows are drawn from their Laplace approximations and moved; their
    gradients are averaged over the later half of the moves.

    Where the budget does not allow all rows and a row has one or two continuous latents, the mean
    is an integral over these (`row_integrals`): over those of all rows at the centre of the draws,
    and over those of some rows at each point, with those of the same rows at the centre as a
    control variate. With more latents, or discrete ones, some rows take the place of all.

    Discrete latents begin once where a chain ended, and once with a draw of their prior. The mean
    of both is taken. Their difference tells whether the moves forget where they begin; if they do
    not, the estimates are biased. Gibbs moves are used where they can be, also in place of the
    user's own move, whose errors would otherwise not be seen.

    Args:
        target: the model bound to its data.
        key: key of rows and moves.
        points: positions of the shared parameters, (n, d).
        centre: of the draws, (d,).
        states: the chains' last states, (chains, ...).
        budget: of gradients of single rows.
    """
    local = target.structure.local
    assert local is not None
    cost = COST if local.sites else 0
    if local.discrete:
        cost = 2 * (cost + 2 * SWEEPS * (1 + local.evaluations // OF_A_GRADIENT))
    if (
        budget // (len(points) * cost) < local.rows
        and not local.discrete
        and local.dimension in NODES
    ):
        return _anchored(target, key, points, centre, states, budget)
    count, times = _rows_and_times(budget, len(points) * cost, 1, local.rows)
    gradient = _both_gradients if local.discrete else _gradient

    def marginal(view: View, points: jax.Array, keys: jax.Array, states: LatentState) -> jax.Array:
        one = partial(gradient, view, states, count)
        return jax.lax.map(one, (points, keys))

    name = "marginal gradients", count
    slopes = _mean(times, key, target, marginal, points, states, name=name)
    if not local.discrete:
        return Marginal(slopes, None)
    return Marginal(slopes.mean(1), slopes[:, 0] - slopes[:, 1])


def _anchored(
    target: Target,
    key: jax.Array,
    points: np.ndarray,
    centre: jax.Array,
    states: LatentState,
    budget: int,
) -> Marginal:
    local = target.structure.local
    assert local is not None
    cost = 2 * len(points) * cost_of(local.dimension)
    count, times = _rows_and_times(budget, cost, FEWEST_ROWS, local.rows)

    def at_centre(view: View, centre: jax.Array, states: LatentState) -> jax.Array:
        return whole_slopes(potential_of(view), centre, states.values[0])

    def anchored(
        view: View,
        points: jax.Array,
        keys: jax.Array,
        centre: jax.Array,
        whole: jax.Array,
        states: LatentState,
    ) -> jax.Array:
        potential, ones = potential_of(view), jnp.ones(count, centre.dtype)

        def one(inputs: tuple[jax.Array, jax.Array]) -> jax.Array:
            position, key = inputs
            rows = view.many_rows(key, count).indices[local.plate]
            of_rows = lambda z: marginal_slopes(potential, z, states.values[0, rows], rows, ones)  # noqa: E731
            # A loop, because two copies of the integrals take twice as long to compile.
            here, there = jax.lax.map(of_rows, jnp.stack([position, centre]))
            prior = jax.grad(potential.shared)(position)
            return whole + prior + local.rows / count * (here - there)

        return jax.lax.map(one, (points, keys))

    whole = target.run(at_centre, centre, states, name="marginal integral at the centre")
    given, name = (centre, whole, states), ("marginal integrals", count)
    slopes = _mean(times, key, target, anchored, points, *given, name=name)
    return Marginal(slopes[:, 0], slopes[:, 0] - slopes[:, 1])


def _rows_and_times(budget: int, cost: int, least: int, rows: int) -> tuple[int, int]:
    """Return how many rows a gradient is of, and how many of these are averaged.

    A larger budget than the usual one is spent on more gradients, whose program is compiled
    already, unless it is enough for all rows.

    Args:
        budget: of gradients of single rows.
        cost: of one row at all points.
        least: number of rows.
        rows: all of them.
    """
    if budget // cost >= rows:
        return rows, 1
    count = int(np.clip(min(budget, GRADIENT_ROWS) // cost, least, rows))
    return count, max(budget // (cost * count), 1)


def _mean(
    times: int, key: jax.Array, target: Target, fn: Any, points: np.ndarray, *inputs: Any, name: Any
) -> np.ndarray:
    """Return the mean of so many independent estimates of the gradients, in double precision."""
    given = target, fn, np.asarray(points), POINTS
    keys = random.keys_of(key, times)
    each = [with_keys(*given, one, *inputs, name=name) for one in keys]
    return np.asarray(np.mean(each, axis=0, dtype=np.float64))


def _both_gradients(
    view: View, states: LatentState, count: int, inputs: tuple[jax.Array, jax.Array]
) -> jax.Array:
    """Return estimates from a chain's last latents and from draws of the prior, (2, d)."""
    position, key = inputs
    key_rows, key_chain, key_prior, *keys = random.split(key, 5)
    potential, local = potential_of(view), view.structure.local
    assert local is not None
    rows = view.many_rows(key_rows, count).indices[local.plate]
    chain = jax.random.randint(key_chain, (), 0, len(states.step))
    state = jax.tree.map(lambda leaf: leaf[chain], states)
    starts = state.discrete[rows], potential.drawn(key_prior, position, rows)
    slopes = [
        _after_sweeps(view, position, state, rows, start, own)
        for start, own in zip(starts, keys, strict=True)
    ]
    shared = jax.grad(potential.shared)(position)
    return shared + local.rows / len(rows) * jnp.stack(slopes)


def _after_sweeps(
    view: View,
    position: jax.Array,
    state: LatentState,
    rows: jax.Array,
    discrete: jax.Array,
    key: jax.Array,
) -> jax.Array:
    """Return the sum of the rows' gradients, averaged over the later half of the sweeps."""
    key_noise, key_moves = random.split(key)
    potential, local = potential_of(view), view.structure.local
    assert local is not None
    latents, factor = state.values[rows], state.factor[rows]
    if local.sites:
        found = laplace_rows(potential, position, latents, rows, NEWTON_STEPS, discrete)
        noise = random.normal(key_noise, latents.shape, latents.dtype)
        factor = found.factor
        latents = found.latents + jnp.einsum("bij,bj->bi", factor, noise)
    needs_own = any(site.support is None for site in local.discrete)

    def body(number: jax.Array, carry: tuple) -> tuple:
        before, total = carry
        own = random.fold_in(key_moves, number)
        given = rows, factor, state.step, own
        after, _ = moved_together(potential, position, before, *given, by_own_move=needs_own)
        slope = total_slope(potential, position, after, rows)
        return after, total + jnp.where(number >= SWEEPS, slope, 0.0)

    first = visited(potential, position, latents, rows, discrete, _is_small(position))
    carry = first, jnp.zeros_like(position)
    return jax.lax.fori_loop(0, 2 * SWEEPS, body, carry)[1] / SWEEPS


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
    first = visited(potential, position, drawn, rows, each_slope=_is_small(position))

    def body(number: jax.Array, carry: tuple) -> tuple:
        before, total = carry
        own = random.fold_in(key_moves, number)
        after, _ = moved(potential, position, before, rows, found.factor, step, own)
        counts = number >= MOVES
        slope = total_slope(potential, position, after, rows)
        return after, total + jnp.where(counts, slope, 0.0)

    total = jnp.zeros_like(position)
    _, total = jax.lax.fori_loop(0, 2 * MOVES, body, (first, total))
    share = local.rows / len(rows)
    return jax.grad(potential.shared)(position) + share * total / MOVES


def conditional(
    target: Target, key: jax.Array, gradient: AbstractGradient, linear: Any, walkers: Walkers
) -> Conditional:
    """Return noise and curvature given the latents, at the chains' last states."""
    keys = jax.random.split(key, len(walkers.positions))
    name = "conditional", jax.tree.structure((gradient, linear))
    noise, curvature = target.run(_conditional, gradient, linear, walkers, keys, name=name)
    return Conditional(noise, float(curvature))


def _is_small(position: jax.Array) -> bool:
    """Return whether there is memory for the gradients of many rows."""
    return position.size <= DENSE_DIMENSION


def _conditional(
    view: View, gradient: AbstractGradient, linear: Any, walkers: Walkers, keys: jax.Array
) -> tuple[Noise, jax.Array]:
    noise = noise_at_latents(view, gradient, linear, walkers, keys)
    potential, (positions, states) = potential_of(view), walkers
    if not _is_small(positions[0]):
        return noise, jnp.max(curvature_at_latents(view, linear, walkers, keys).largest)
    given = positions, states.values, states.discrete
    rows = jnp.arange(states.values.shape[1])

    def hessian(one: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        position, values, discrete = one
        return second_order(potential, position, values, discrete, rows)[2]

    hessians = jax.lax.map(hessian, given)
    return noise, typical(hessians, linear).largest
