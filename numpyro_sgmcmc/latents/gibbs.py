"""Moves of the discrete latents of some rows: Gibbs steps, and a user's own."""

from functools import partial

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents.blocks import drawn_in_blocks
from numpyro_sgmcmc.latents.own_move import own_moved
from numpyro_sgmcmc.model.local import DiscreteSite, JointPotential


def redrawn(
    potential: JointPotential,
    position: jax.Array,
    latents: jax.Array,
    discrete: jax.Array,
    rows: jax.Array,
    key: jax.Array,
    by_own_move: bool = True,
) -> jax.Array:
    """Return discrete latents of some rows after one sweep over their elements, (B, m).

    An element s_j of a row is drawn from its conditional distribution given all others,

        p(s_j = v | s_-j, a_i, z, y_i)  proportional to  exp(-u_i(z, a_i, s with s_j = v)),

    one element after the other, for all rows together. For each element, the density of a row is
    evaluated at every value but the current one. Values whose density is not finite are never
    drawn. Sites that the user's own move returns are moved by that function only.

    Args:
        potential: the joint potential.
        position: shared parameters, (d,).
        latents: continuous latents of the rows, (B, k).
        discrete: discrete ones, (B, m).
        rows: their numbers, (B,).
        key: a random key.
        by_own_move: whether to use the user's own move, if there is one.
    """
    local = potential.structure.local
    moved: frozenset[str] = frozenset()
    if local.move is not None and by_own_move:
        key, key_own = random.split(key)
        discrete, moved = own_moved(potential, position, latents, discrete, rows, key_own)
    start = 0
    keys = random.split(key, len(local.discrete))
    for number, site in enumerate(local.discrete):
        if site.name not in moved:
            given = potential, position, latents, discrete, rows
            discrete = _swept(*given, keys[number], site, start)
        start += site.size
    return discrete


def redrawn_everywhere(
    potential: JointPotential,
    position: jax.Array,
    latents: jax.Array,
    discrete: jax.Array,
    rows: jax.Array,
    key: jax.Array,
) -> jax.Array:
    """Return the discrete latents of many rows after a sweep, in blocks of rows."""

    def of_rows(key: jax.Array, at: jax.Array) -> jax.Array:
        return redrawn(potential, position, latents[at], discrete[at], rows[at], key)

    return drawn_in_blocks(of_rows, key, len(discrete))


def _swept(
    potential: JointPotential,
    position: jax.Array,
    latents: jax.Array,
    discrete: jax.Array,
    rows: jax.Array,
    key: jax.Array,
    site: DiscreteSite,
    start: int,
) -> jax.Array:
    """Return discrete latents of rows after a Gibbs step of each element of a site."""
    assert site.support is not None  # Others are refused when the model is read.
    support = jnp.asarray(site.support, discrete.dtype)
    if len(support) < 2:
        return discrete
    energy = jax.vmap(lambda *given: potential.row(position, *given)[0])
    dtype = position.dtype
    smallest = float(jnp.finfo(dtype).tiny)

    def body(number: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        values, current = carry
        at = start + number
        own = values[:, at]
        place = jnp.argmax(own[:, None] == support, axis=1)
        shifts = jnp.arange(1, len(support))[:, None]
        others = support[(place + shifts) % len(support)]

        def tried(other: jax.Array) -> jax.Array:
            return energy(latents, rows, values.at[:, at].set(other))

        energies = jnp.concatenate([current[None], jax.vmap(tried)(others)])
        shape = energies.shape
        uniform = random.uniform(random.fold_in(key, number), shape, dtype, smallest, 1.0)
        # The largest of log densities with Gumbel noise is a draw; the current value is the first.
        scores = jnp.where(jnp.isfinite(energies), -energies, -jnp.inf) - jnp.log(-jnp.log(uniform))
        chosen = jnp.argmax(scores, axis=0)
        values = values.at[:, at].set(_taken(jnp.concatenate([own[None], others]), chosen))
        return values, _taken(energies, chosen)

    return jax.lax.fori_loop(0, site.size, body, (discrete, energy(latents, rows, discrete)))[0]


@partial(jax.vmap, in_axes=(1, 0))
def _taken(column: jax.Array, place: jax.Array) -> jax.Array:
    return column[place]
