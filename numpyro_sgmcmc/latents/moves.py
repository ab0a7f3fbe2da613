"""Moves of the latents of some rows: discrete ones, then continuous ones."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents.gibbs import redrawn
from numpyro_sgmcmc.model.local import JointPotential


class Visited(NamedTuple):
    """Rows at one position of the shared parameters.

    Attributes:
        energy: u_i(z, a_i), (B,).
        slope: its gradient in z, (B, d), or (B, 0) where it is not needed for each row.
        force: its gradient in a_i, (B, k).
        latents: a_i, (B, k).
        values: the values of the rows' continuous sites, (B, w).
        discrete: those of the discrete ones, (B, m).
    """

    energy: jax.Array
    slope: jax.Array
    force: jax.Array
    latents: jax.Array
    values: jax.Array
    discrete: jax.Array

    @property
    def has_slopes(self) -> bool:
        """Whether there is a gradient in z for each row."""
        return self.slope.shape[1] > 0


def visited(
    potential: JointPotential,
    position: jax.Array,
    latents: jax.Array,
    rows: jax.Array,
    discrete: jax.Array | None = None,
    each_slope: bool = True,
) -> Visited:
    """Return the densities of rows and their gradients, those in z if `each_slope` is true."""
    derivatives = jax.value_and_grad(
        potential.row, argnums=(0, 1) if each_slope else (1,), has_aux=True
    )
    local = potential.structure.local
    given = local.some_discrete(len(rows)) if discrete is None else discrete
    found = jax.vmap(partial(derivatives, position))(latents, rows, given)
    (energy, values), (*slopes, force) = found
    slope = slopes[0] if each_slope else jnp.zeros((len(rows), 0), position.dtype)
    return Visited(energy, slope, force, latents, values, given)


def total_slope(
    potential: JointPotential, position: jax.Array, found: Visited, rows: jax.Array
) -> jax.Array:
    """Return the sum of the rows' gradients in z, (d,)."""
    if found.has_slopes:
        return found.slope.sum(0)
    return jax.grad(potential.rows)(position, found.latents, rows, found.discrete)


def moved_together(
    potential: JointPotential,
    position: jax.Array,
    before: Visited,
    rows: jax.Array,
    factor: jax.Array,
    step: jax.Array,
    key: jax.Array,
    by_own_move: bool = True,
) -> tuple[Visited, jax.Array]:
    """Return the rows after a sweep over discrete latents and a move of continuous ones.

    Also returns the acceptance probability of each row, (B,), or, for rows with discrete latents
    only, the share of elements that changed. Both parts leave p(a_i | z, y_i) invariant.
    """
    local = potential.structure.local
    if not local.discrete:
        return moved(potential, position, before, rows, factor, step, key)
    key_discrete, key = random.split(key)
    given = before.latents, before.discrete, rows, key_discrete
    discrete = redrawn(potential, position, *given, by_own_move)
    after = visited(potential, position, before.latents, rows, discrete, before.has_slopes)
    if local.sites:
        return moved(potential, position, after, rows, factor, step, key)
    changed = jnp.mean((discrete != before.discrete).astype(step.dtype), axis=1)
    return after, changed


def moved(
    potential: JointPotential,
    position: jax.Array,
    before: Visited,
    rows: jax.Array,
    factor: jax.Array,
    step: jax.Array,
    key: jax.Array,
) -> tuple[Visited, jax.Array]:
    """Return the rows after one move of continuous latents, and its acceptance probability, (B,).

    The proposal of a row is a step of Langevin dynamics under its factor L,

        a* = a - (e^2 / 2) L L' grad u(a) + e L x,    x ~ N(0, I),

    which is accepted with the probability of Metropolis and Hastings (Roberts and Tweedie 1996).
    This leaves p(a_i | z, y_i) invariant for every e and L. It uses the row's own data only, so the
    factor N / B does not occur. A proposal whose density or gradients are not finite is rejected.
    """
    return moved_by(potential, position, before, rows, factor, step, *draws_of(key, before.latents))


def draws_of(key: jax.Array, latents: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the normal and uniform numbers of a move of rows, (B, k) and (B,)."""
    key_noise, key_accept = random.split(key)
    noise = random.normal(key_noise, latents.shape, latents.dtype)
    uniform = random.uniform(key_accept, (len(latents),), latents.dtype, minval=0.0, maxval=1.0)
    return noise, uniform


def moved_by(
    potential: JointPotential,
    position: jax.Array,
    before: Visited,
    rows: jax.Array,
    factor: jax.Array,
    step: jax.Array,
    noise: jax.Array,
    uniform: jax.Array,
) -> tuple[Visited, jax.Array]:
    """Return what `moved` does, with these random numbers."""
    drift = jnp.einsum("bij,bi->bj", factor, before.force)
    jump = step * noise - step**2 / 2 * drift
    latents = before.latents + jnp.einsum("bij,bj->bi", factor, jump)
    after = visited(potential, position, latents, rows, before.discrete, before.has_slopes)
    back = jnp.einsum("bij,bi->bj", factor, after.force)
    there = jnp.sum(noise**2, axis=1) / 2
    again = jnp.sum((jump - step**2 / 2 * back) ** 2, axis=1) / (2 * step**2)
    log_ratio = before.energy - after.energy + there - again
    sound = jnp.isfinite(log_ratio) & jnp.all(jnp.isfinite(after.slope), axis=1)
    chance = jnp.where(sound, jnp.exp(jnp.minimum(log_ratio, 0.0)), 0.0)
    accepted = uniform < chance

    def chosen(new: jax.Array, old: jax.Array) -> jax.Array:
        return jnp.where(accepted.reshape(-1, *[1] * (new.ndim - 1)), new, old)

    return jax.tree.map(chosen, after, before), chance
