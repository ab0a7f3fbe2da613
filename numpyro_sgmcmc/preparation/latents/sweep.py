"""A sweep of an approximate Gibbs sampler: rows given shared parameters, and the reverse."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents import laplace_rows, redrawn_everywhere
from numpyro_sgmcmc.latents.blocks import in_blocks
from numpyro_sgmcmc.latents.moves import draws_of, moved_by, visited
from numpyro_sgmcmc.model.local import JointPotential
from numpyro_sgmcmc.preparation.axes import principal_axes
from numpyro_sgmcmc.preparation.start_thresholds import LONGEST_STEP
from numpyro_sgmcmc.preparation.target import View
from numpyro_sgmcmc.preparation.thresholds import HESSIAN_COLUMNS, ROWS_AT_ONCE

ACCEPTED = 0.7
"""Acceptance probability of the rows' moves to which their step size is adapted: near the best for
a few latents of a row (0.574 for very many, Roberts and Rosenthal 1998)."""

STEP_SIZES = 0.05, 1.5
"""Smallest and largest step size of the rows' moves. A move with 1.41 under the exact covariance of
a Gaussian proposes an independent draw."""

HALVINGS = 12
"""How often a step of the shared parameters is halved that does not reduce the potential."""


class Swept(NamedTuple):
    """A walker after a sweep.

    Attributes:
        position: shared parameters, (d,).
        values: continuous latents of its rows, (n, k).
        discrete: discrete ones, (n, m).
        rows: the rows' numbers, (n,): all rows, or a sample that stands for itself.
        factor: of the rows' proposals, (n, k, k).
        step: of the rows' moves, ().
        energy: U(z, a), ().
        hessian: of U(., a) before the step of the shared parameters, (d, d).
        is_finite: whether the potential and its derivatives were finite.
    """

    position: jax.Array
    values: jax.Array
    discrete: jax.Array
    rows: jax.Array
    factor: jax.Array
    step: jax.Array
    energy: jax.Array
    hessian: jax.Array
    is_finite: jax.Array


def sweep(view: View, key: jax.Array, walker: Swept) -> Swept:
    """Return the walker after a draw of all latents, and one of the shared parameters given them.

    A row's discrete latents are moved by the move of the run. Continuous ones are drawn from their
    Laplace approximation, and moved once by the corrected move of the run. The shared parameters
    take a damped Newton step on the joint potential, and get the noise of its Gaussian
    approximation, so that for a quadratic potential they are drawn exactly.
    """
    key_rows, key_move, key_noise = random.split(key, 3)
    potential = view.potential
    assert isinstance(potential, JointPotential)
    position, discrete, rows = walker.position, walker.discrete, walker.rows
    values, factor, step = walker.values, walker.factor, walker.step
    if potential.structure.local.discrete:
        key_rows, key_discrete = random.split(key_rows)
        discrete = redrawn_everywhere(potential, position, values, discrete, rows, key_discrete)
    if potential.structure.local.sites:
        keys = key_rows, key_move
        values, factor, step = continuous_drawn(
            potential, position, values, discrete, rows, step, keys
        )
    moved_to, *found = _drawn(potential, key_noise, position, values, discrete, rows)
    return Swept(moved_to, values, discrete, rows, factor, step, *found)


def continuous_drawn(
    potential: JointPotential,
    position: jax.Array,
    values: jax.Array,
    discrete: jax.Array,
    rows: jax.Array,
    step: jax.Array,
    keys: tuple[jax.Array, jax.Array],
    each_slope: bool = True,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return continuous latents of rows, with the factors and the step of their moves.

    `each_slope` tells whether the rows' gradients in the shared parameters must be finite too, and
    so whether there is memory for them.
    """

    def of_rows(
        values: jax.Array,
        discrete: jax.Array,
        rows: jax.Array,
        noise: jax.Array,
        *draws: jax.Array,
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        found = laplace_rows(potential, position, values, rows, discrete=discrete)
        drawn = found.latents + jnp.einsum("bij,bj->bi", found.factor, noise)
        before = visited(potential, position, drawn, rows, discrete, each_slope)
        usable = jnp.isfinite(before.energy)[:, None]
        drawn = jnp.where(usable, drawn, found.latents)
        before = visited(potential, position, drawn, rows, discrete, each_slope)
        given = potential, position, before, rows, found.factor, step
        after, chance = moved_by(*given, *draws)
        return after.latents, found.factor, chance

    noise = random.normal(keys[0], values.shape, values.dtype)
    given = values, discrete, rows, noise, *draws_of(keys[1], values)
    latents, factor, chance = in_blocks(of_rows, *given)
    step = jnp.clip(step * jnp.exp(jnp.mean(chance) - ACCEPTED), *STEP_SIZES)
    return latents, factor, step


def _drawn(
    potential: JointPotential,
    key: jax.Array,
    position: jax.Array,
    values: jax.Array,
    discrete: jax.Array,
    rows: jax.Array,
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Return shared parameters given latents, U and its Hessian, and whether these were finite."""
    energy, gradient, hessian = second_order(potential, position, values, discrete, rows)
    is_finite = (
        jnp.isfinite(energy) & jnp.all(jnp.isfinite(gradient)) & jnp.all(jnp.isfinite(hessian))
    )
    axes = principal_axes(jnp.where(is_finite, hessian, jnp.eye(len(position))))
    root = axes.root(jnp.abs(axes.curvatures))
    along = root.T @ jnp.where(is_finite, gradient, 0.0)
    along = along / jnp.maximum(1.0, jnp.linalg.norm(along) / LONGEST_STEP)
    step = root @ along
    # An increase of U smaller than its rounding error does not count as one.
    slack = 100 * jnp.finfo(energy.dtype).eps * jnp.abs(energy)

    given = values, discrete, rows

    def is_worse(carry: tuple) -> jax.Array:
        _, tried, count = carry
        better = jnp.isfinite(tried) & (tried <= energy + slack)
        return ~better & (count < HALVINGS)

    def halve(carry: tuple) -> tuple:
        share, _, count = carry
        return share / 2, energy_of(potential, position - share / 2 * step, *given), count + 1

    first = jnp.ones((), energy.dtype), energy_of(potential, position - step, *given), 0
    share, _, count = jax.lax.while_loop(is_worse, halve, first)
    share = jnp.where(count < HALVINGS, share, 0.0)
    centre = position - share * step
    noisy = centre + root @ random.normal(key, centre.shape, centre.dtype)
    usable = jnp.isfinite(energy_of(potential, noisy, *given))
    return jnp.where(usable, noisy, centre), energy, hessian, is_finite


def energy_of(
    potential: JointPotential,
    position: jax.Array,
    values: jax.Array,
    discrete: jax.Array,
    rows: jax.Array,
) -> jax.Array:
    """Return U(z, a) of these rows."""
    of_rows = jax.vmap(lambda *row: potential.row(position, *row)[0])
    found = in_blocks(of_rows, values, rows, discrete)
    return potential.shared(position) + found.sum()


def second_order(
    potential: JointPotential,
    position: jax.Array,
    values: jax.Array,
    discrete: jax.Array,
    rows: jax.Array,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return U(z, a) of these rows, its gradient and its Hessian in z, in blocks of rows."""
    size = len(values)
    block = min(ROWS_AT_ONCE, size)
    count = -(-size // block)
    basis = jnp.eye(len(position), dtype=position.dtype)

    def of_block(first: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        numbers = first + jnp.arange(block)
        at = jnp.minimum(numbers, size - 1)
        given = values[at], rows[at], discrete[at]
        weight = (numbers < size).astype(position.dtype)

        def energy(position: jax.Array) -> jax.Array:
            found = jax.vmap(lambda *row: potential.row(position, *row)[0])(*given)
            return jnp.sum(jnp.where(weight > 0, found, 0.0))

        return _derivatives(energy, position, basis)

    def add(number: jax.Array, total: tuple) -> tuple:
        return jax.tree.map(jnp.add, total, of_block(number * block))

    return jax.lax.fori_loop(0, count, add, _derivatives(potential.shared, position, basis))


def _derivatives(
    energy: Callable[[jax.Array], jax.Array], position: jax.Array, basis: jax.Array
) -> tuple:
    (value, gradient), push = jax.linearize(jax.value_and_grad(energy), position)
    columns = jax.lax.map(lambda v: push(v)[1], basis, batch_size=HESSIAN_COLUMNS)
    return value, gradient, (columns + columns.T) / 2
