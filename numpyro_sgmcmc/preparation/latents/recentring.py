"""The choice between the centred and the non-centred form of latents of rows."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.latents.blocks import in_blocks
from numpyro_sgmcmc.model.local import Effect, Local, effects_of_rows
from numpyro_sgmcmc.preparation.latents.potential import potential_of
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.target import Target, View

GAIN = 1.25
"""How many times as fast shared parameters must relax in the non-centred form, in which walkers
settle anew."""

SHARES = 1e-4, 1 - 1e-6
"""Smallest and largest share of a latent's information that is taken to come from its row. Rounding
hides smaller ones, as where the scale of the prior is tiny."""


class Rows(NamedTuple):
    """Continuous latents of some rows at a position of the shared parameters.

    Attributes:
        position: shared parameters, (d,).
        values: latents, (n, k).
        factor: L of each row, with L L' the covariance of its latents, (n, k, k).
        rows: the rows' numbers, (n,).
    """

    position: jax.Array
    values: jax.Array
    factor: jax.Array
    rows: jax.Array


def weights_of(
    target: Target, options: Options, walkers: Sequence[Rows]
) -> dict[str, jax.Array] | None:
    """Return the weights of latents that are better non-centred, 0 by site; None if none are.

    Args:
        target: the model bound to its data, with latents as in the model.
        options: the user's choices.
        walkers: where walkers have settled, with the same number of rows.
    """
    view = View(target.structure, target.minibatch, target.args, target.kwargs)
    effects = effects_of_rows(potential_of(view)) if options.may_recentre else []
    if not effects:
        return None
    local = target.structure.local
    assert local is not None
    shares = np.concatenate([target.run(_shares, w, optimise=False) for w in walkers])
    found: dict[str, jax.Array] = {}
    for effect, shape, place in zip(effects, *_places(local, effects), strict=True):
        centred, non_centred = relaxation_rates(effect, shares[:, place])
        if non_centred > GAIN * centred:
            found[effect.site] = jnp.zeros(shape, walkers[0].values.dtype)
    return found or None


def relaxation_rates(effect: Effect, shares: np.ndarray) -> tuple[float, float]:
    """Return how fast location and scale relax with centred and with non-centred latents.

    A Gibbs sampler that alternates shared parameters given latents with latents given shared
    parameters forgets a share I / (I + J) of a parameter's deviation in each sweep, where I is the
    information that the data have on it and I + J that of data and latents together. Let a latent
    have the prior N(m, s^2), and its row the information i on it, so that the row's share is
    R = i s^2 / (1 + i s^2). For a Gaussian likelihood the data have, in sums over rows,

        I = R / s^2 on m,    I = 2 R^2 on log s.

    With centred latents a, I + J is 1 / s^2 and 2 for each row. With non-centred ones,
    (a - m) / s, it is K / s^2 and about K, where K = i s^2 = R / (1 - R). All rows are taken to
    have the same s. The smaller one of the rates of location and scale counts, for the number of a
    row for which it is smallest.

    Args:
        effect: what depends on other latents.
        shares: R, (rows, numbers of a row).

    Returns:
        The rates of the slowest one, in the centred and in the non-centred form.
    """
    known = shares / (1 - shares)
    rates = []
    if effect.moves_location:
        rates.append((shares.mean(0), shares.mean(0) / known.mean(0)))
    if effect.moves_scale:
        square = (shares**2).mean(0)
        rates.append((square, 2 * square / known.mean(0)))
    centred, non_centred = (float(np.min(each)) for each in zip(*rates, strict=True))
    return centred, non_centred


def moved(view: View, given: Rows, weights: dict[str, jax.Array]) -> jax.Array:
    """Return the coordinates of latents with these weights, (n, k)."""
    potential, local = potential_of(view), view.structure.local
    assert local is not None
    parts = [jnp.ravel(weights.get(site.name, jnp.ones(site.free))) for site in local.sites]
    flat = jnp.concatenate(parts).astype(given.values.dtype)

    def of_rows(latents: jax.Array, rows: jax.Array) -> jax.Array:
        return potential.prior(given.position, latents, rows).coordinates(latents, flat)

    return in_blocks(of_rows, given.values, given.rows)


def _shares(view: View, given: Rows) -> jax.Array:
    """Return the share of the information on each latent that comes from its row, (n, k).

    It is 1 - k v, with v the variance of (a - m) / s given the row and the shared parameters, and k
    the curvature of the prior in the same unit. m and s may depend on other latents of the row.
    """
    potential = potential_of(view)

    def of_rows(latents: jax.Array, factor: jax.Array, rows: jax.Array) -> jax.Array:
        def standard(latents: jax.Array) -> jax.Array:
            prior = potential.prior(given.position, latents, rows)
            return (latents - prior.location) / prior.scale

        along = jax.linearize(standard, latents)[1]
        variance = jnp.sum(jax.vmap(along, 2, 2)(factor) ** 2, axis=2)
        curvature = potential.prior(given.position, latents, rows).curvature
        return jnp.clip(1 - variance * curvature, *SHARES)

    return in_blocks(of_rows, given.values, given.factor, given.rows)


def _places(local: Local, effects: Sequence[Effect]) -> tuple[list[tuple[int, ...]], list[slice]]:
    """Return the shape of each effect in a row, and its place among the row's numbers."""
    shapes, places, start = {}, {}, 0
    for site in local.sites:
        shapes[site.name] = site.free
        places[site.name] = slice(start, start + prod(site.free))
        start += prod(site.free)
    return [shapes[e.site] for e in effects], [places[e.site] for e in effects]
