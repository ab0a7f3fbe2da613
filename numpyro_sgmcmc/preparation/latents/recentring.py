"""The choice of coordinates of latents of rows between the centred and the non-centred form."""

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.latents.blocks import in_blocks
from numpyro_sgmcmc.model.local import (
    Effect,
    Local,
    effects_of_rows,
    images_of_rows,
    weights_at,
)
from numpyro_sgmcmc.preparation.latents.potential import potential_of
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.target import Target, View

GAIN = 1.5
"""How many times as fast shared parameters must relax in other coordinates."""

SHARES = 1e-4, 1 - 1e-6
"""Smallest and largest share of a latent's information that is taken to come from its row. Rounding
hides smaller ones, as where the scale of the prior is tiny."""

LOWEST = 2.0
"""Standard deviations of log s below its mean for which weights are chosen. There the latents are
less informed, and chains leave more slowly."""


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


class Informed(NamedTuple):
    """What rows say of their latents.

    Attributes:
        shares: R, the share of the information on a latent that comes from its row, (n, k).
        scales: s of the prior, (n, k). Those of latents that the model writes non-centred may be
            negative.
        weights: of the latents' coordinates, c |s|^(1 - b) and b, (n, k, 2). The first is that of
            the location with |s| as a unit, and changes its sign with s.
    """

    shares: Any
    scales: Any
    weights: Any


def weights_of(
    target: Target, options: Options, walkers: Sequence[Rows], gain: float = GAIN
) -> dict[str, jax.Array] | None:
    """Return weights with which the shared parameters relax faster; None if there are none.

    Each row has its own. If the walkers have samples of rows, all rows have those that suit the
    samples as a whole.

    Args:
        target: the model bound to its data, in the coordinates that the latents have.
        options: the user's choices.
        walkers: where walkers have settled, with the same number of rows.
        gain: how many times as fast the shared parameters must relax.
    """
    view = View(target.structure, target.minibatch, target.args, target.kwargs)
    effects = effects_of_rows(potential_of(view)) if options.may_recentre else []
    if not effects:
        return None
    local = target.structure.local
    assert local is not None
    placed = with_written(target)
    found = [placed.run(_informed, rows, optimise=False) for rows in walkers]
    each = [Informed(*map(np.asarray, one)) for one in found]
    has_all_rows = len(walkers[0].rows) == local.rows
    seen = (
        _averaged(each) if has_all_rows else Informed(*map(np.concatenate, zip(*each, strict=True)))
    )
    weights, given = {}, target.centring or {}
    for effect, place in zip(effects, _places(local, effects), strict=True):
        shares, scales, now = (part[:, place] for part in seen)
        if effect.moves_scale:
            shares = at_a_small_scale(shares, local.rows)
        chosen = best_weights(effect, shares, alike=not has_all_rows)
        before, after = (relaxation_rate(effect, shares, each) for each in (now, chosen))
        # Latents that have weights already may as well have the best ones.
        if after > (1 if effect.site in given else gain) * before:
            if not has_all_rows:
                scales = np.median(scales, axis=0, keepdims=True)
            chosen[..., 0] *= np.sign(scales) * np.abs(scales) ** (chosen[..., 1] - 1)
            everywhere = np.broadcast_to(chosen, (local.rows, *chosen.shape[1:]))
            weights[effect.site] = _shaped(everywhere, local, effect.site, walkers[0].values.dtype)
    return given | weights if weights else None


def with_written(target: Target) -> Target:
    """Return the same coordinates, with weights of the latents that the model writes non-centred.

    With weights 0 these are as they are, and the target knows what the model makes of them.
    """
    local, given = target.structure.local, target.centring or {}
    assert local is not None
    found = images_of_rows(target.structure, target.args, target.kwargs)
    free = {site.name: site.free for site in local.sites}
    none = {name: np.zeros((local.rows, *free[name], 2)) for name in found.keys() - given.keys()}
    if not none:
        return target
    dtype = jnp.result_type(*jax.tree.leaves(target.structure.prototype))
    return target.partly_centred(given | {name: jnp.asarray(x, dtype) for name, x in none.items()})


def relaxation_rate(effect: Effect, shares: np.ndarray, weights: np.ndarray) -> float:
    """Return how fast location and scale of latents relax in coordinates with these weights.

    A Gibbs sampler that alternates shared parameters given latents with latents given shared
    parameters forgets a share I / (I + J) of a parameter's deviation in each sweep, where I is the
    information that the data have on it and I + J that of data and latents together. Let a latent
    have the prior N(m, s^2), and its row the information i on it, so that the row's share is
    R = i s^2 / (1 + i s^2). For a Gaussian likelihood and weights c of the location, with s as a
    unit, and b of the scale, these are in sums over rows

        I = R / s^2                J = (c - R)^2 / (1 - R) / s^2                        on m,
        I = 2 R^2                  J = (1 + b - 2 R)^2 K + 2 (b - R)^2                  on log s,

    with K = R / (1 - R): the mean and the variance of a latent's coordinate given the row change
    with m and log s, and J is what these changes tell. All rows are taken to have the same s. The
    smaller one of the rates counts, for the number of a row for which it is smallest.

    Args:
        effect: what depends on other latents.
        shares: R, (rows, numbers of a row).
        weights: c and b, (rows or 1, numbers of a row, 2).
    """
    c, b = weights[..., 0], weights[..., 1]
    known = shares / (1 - shares)
    rates = []
    if effect.moves_location:
        lost = (c - shares) ** 2 / (1 - shares)
        rates.append(shares.mean(0) / (shares + lost).mean(0))
    if effect.moves_scale:
        own = 2 * shares**2
        lost = (1 + b - 2 * shares) ** 2 * known + 2 * (b - shares) ** 2
        rates.append(own.mean(0) / (own + lost).mean(0))
    return float(np.min(rates))


def best_weights(effect: Effect, shares: np.ndarray, alike: bool) -> np.ndarray:
    """Return the weights c and b of the least J of location and scale; see `relaxation_rate`.

    For each row they are c = R and b = R / (2 - R), (rows, numbers of a row, 2), or 0 where R is
    the smallest of `SHARES`, and may be smaller. One pair for rows that are to be `alike` has
    weighted means of these, (1, numbers of a row, 2). Where the scale does not depend on latents, b
    sets the unit only.
    """
    known = shares / (1 - shares)
    shares = np.where(shares > 1.01 * SHARES[0], shares, 0.0)
    c, b = shares, shares / (2 - shares)
    if alike:
        c = np.average(c, axis=0, weights=1 / (1 - shares), keepdims=True)
        b = np.average(b, axis=0, weights=known + 2, keepdims=True)
    return np.stack([c, b if effect.moves_scale else c], axis=-1)


def at_a_small_scale(shares: np.ndarray, rows: int) -> np.ndarray:
    """Return the shares `LOWEST` standard deviations of log s below, (rows, numbers of a row).

    The data of so many rows have the information 2 R^2 for each on log s.
    """
    information = 2 * np.mean(shares**2, axis=0) * rows
    known = shares / (1 - shares) * np.exp(-2 * LOWEST / np.sqrt(information))
    return np.clip(known / (1 + known), *SHARES)


def in_coordinates(target: Target, rows: Rows, weights: dict[str, jax.Array]) -> jax.Array:
    """Return the coordinates of latents with other weights, (n, k)."""
    return with_written(target).run(_moved, rows, weights, optimise=False)


def _moved(view: View, given: Rows, weights: dict[str, jax.Array]) -> jax.Array:
    potential, local = potential_of(view), view.structure.local
    assert local is not None

    def of_rows(latents: jax.Array, rows: jax.Array) -> jax.Array:
        prior = potential.prior(given.position, latents, rows)
        return prior.with_weights(latents, weights_at(weights, rows, local))

    return in_blocks(of_rows, given.values, given.rows)


def _informed(view: View, given: Rows) -> Informed:
    """Return what some rows say of their latents, at a position of the shared parameters.

    The share of a row is 1 - k v, with v the variance of (a - m) / s given the row and the shared
    parameters, and k the curvature of the prior in the same unit. m and s may depend on other
    latents of the row.
    """
    potential = potential_of(view)

    def of_rows(latents: jax.Array, factor: jax.Array, rows: jax.Array) -> Informed:
        def standard(latents: jax.Array) -> jax.Array:
            return potential.prior(given.position, latents, rows).standard(latents)

        along = jax.linearize(standard, latents)[1]
        variance = jnp.sum(jax.vmap(along, 2, 2)(factor) ** 2, axis=2)
        prior = potential.prior(given.position, latents, rows)
        shares = jnp.clip(1 - variance * prior.curvature, *SHARES)
        c, b = prior.weights[..., 0], prior.weights[..., 1]
        own = c * jnp.sign(prior.scale) * jnp.abs(prior.scale) ** (1 - b)
        return Informed(shares, prior.scale, jnp.stack([own, b], axis=-1))

    return in_blocks(of_rows, given.values, given.factor, given.rows)


def _averaged(each: Sequence[Informed]) -> Informed:
    """Return what the same rows say on average over walkers."""
    known = np.mean([one.shares / (1 - one.shares) for one in each], axis=0)
    scales, weights = (np.mean(parts, axis=0) for parts in list(zip(*each, strict=True))[1:])
    return Informed(known / (1 + known), scales, weights)


def _shaped(weights: np.ndarray, local: Local, site: str, dtype: Any) -> jax.Array:
    """Return weights (N, numbers of a row, 2) with the shape of the site's value in a row."""
    (free,) = (each.free for each in local.sites if each.name == site)
    return jnp.asarray(weights.reshape(-1, *free, 2), dtype)


def _places(local: Local, effects: Sequence[Effect]) -> list[slice]:
    """Return the places of effects among the numbers of a row."""
    places, start = {}, 0
    for site in local.sites:
        places[site.name] = slice(start, start + prod(site.free))
        start += prod(site.free)
    return [places[effect.site] for effect in effects]
