"""Coordinates of the latents of rows between the centred and the non-centred form."""

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from numpyro.infer.util import _unconstrain_reparam

from numpyro_sgmcmc.model.local.sites import Local
from numpyro_sgmcmc.model.location_scale import unconstrained_prior

FLATTEST = 0.1
"""Smallest curvature at its location of a prior with scale 1 that counts. The one of a Laplace
distribution is 0."""


class Prior(NamedTuple):
    """The prior of each unconstrained latent number of some rows; all are (rows, k).

    Attributes:
        location: m; 0 where a prior has not both a location and a scale. Of a latent x that the
            model writes non-centred, that of m + s x.
        scale: s; 1 there. The one of m + s x may be negative.
        curvature: of -log of the density at m, with 1 / s as a unit; 1 for a normal distribution,
            and where it would be 0.
        weights: c and b of the coordinates that the latents have, (rows, k, 2).
    """

    location: jax.Array
    scale: jax.Array
    curvature: jax.Array
    weights: jax.Array

    def standard(self, latents: jax.Array) -> jax.Array:
        """Return (a - m) / |s| of latents in these coordinates, or x, (rows, k)."""
        c, b = self.weights[..., 0], self.weights[..., 1]
        return jnp.abs(self.scale) ** -b * (latents - c * self.location)

    def with_weights(self, latents: jax.Array, weights: jax.Array) -> jax.Array:
        """Return the coordinates with other weights, (rows, k, 2), of latents in these."""
        c, b = weights[..., 0], weights[..., 1]
        return jnp.abs(self.scale) ** b * self.standard(latents) + c * self.location


def in_coordinates(
    values: dict[str, jax.Array], weights: dict[str, jax.Array], rows: jax.Array, local: Local
) -> tuple[Callable[[dict[str, Any]], Any], list[jax.Array]]:
    """Return a `substitute_fn` for coordinates, and a list that it fills with log volumes.

    An unconstrained latent a of a row with the prior's location m and scale s has the coordinate

        y = (a - m) / s^(1 - b) + c m,    a = m + s^(1 - b) (y - c m),

    with weights c of the location and b of the scale: 1 and 1 in the centred form, 0 and 0 in the
    non-centred one. m and s may depend on shared sites and on earlier latents of the row.

    Args:
        values: by site, unconstrained, or coordinates where there are weights.
        weights: c and b by site and row, (N, ...), with the shape of a row's unconstrained value
            and a last axis of two.
        rows: the rows' numbers, (n,).
        local: the latent sites of rows.
    """
    axes = {site.name: site.axis for site in local.sites}
    volumes: list[jax.Array] = []

    def value_of(site: dict[str, Any]) -> Any:
        name = site["name"]
        if name not in weights or site["type"] != "sample":
            return _unconstrain_reparam(values, site)
        given, both = values[name], jnp.moveaxis(weights[name][rows], 0, axes[name])
        location, scale = _parts(unconstrained_prior(site["fn"]), given.shape)
        logarithm = (1 - both[..., 1]) * jnp.log(scale)
        volumes.append(jnp.sum(logarithm))
        free = location + jnp.exp(logarithm) * (given - both[..., 0] * location)
        return _unconstrain_reparam({name: free}, site)

    return value_of, volumes


def weights_at(weights: dict[str, jax.Array], rows: jax.Array, local: Local) -> jax.Array:
    """Return the weights of some rows' latents, (n, k, 2); 1 where there are none."""
    size = len(rows)
    parts = [
        weights[site.name][rows].reshape(size, -1, 2)
        if site.name in weights
        else jnp.ones((size, prod(site.free), 2))
        for site in local.sites
    ]
    return jnp.concatenate(parts, axis=1)


def prior_of(
    trace: dict[str, Any],
    weights: jax.Array,
    effects: dict[str, tuple[jax.Array, ...]],
    local: Local,
) -> Prior:
    """Return the priors of the latents in a trace, in rows as they lie in it.

    Args:
        trace: of the model.
        weights: of the latents' coordinates, (rows, k, 2).
        effects: location and scale by site of what the model makes of non-centred latents, (rows,
            numbers of a row).
        local: the latent sites of rows.
    """
    found = []
    for site in local.sites:
        given, free = trace[site.name], site.free
        rows = jnp.shape(given["value"])[site.axis]
        prior = unconstrained_prior(given["fn"])
        if prior is None:
            ones = jnp.ones((rows, prod(free)))
            found.append((0 * ones, ones, ones))
            continue
        location, scale = _parts(prior, (*free[: site.axis], rows, *free[site.axis :]))
        found_there = scale**2 * _curvature(prior, location)
        curvature = jnp.where(found_there > FLATTEST, found_there, 1.0)
        parts = (jnp.moveaxis(x, site.axis, 0) for x in (location, scale, curvature))
        location, scale, curvature = (x.reshape(rows, -1) for x in parts)
        found.append((*effects.get(site.name, (location, scale)), curvature))
    location, scale, curvature = (jnp.concatenate(x, 1) for x in zip(*found, strict=True))
    return Prior(location, scale, curvature, weights)


def _curvature(prior: Any, at: jax.Array) -> jax.Array:
    """Return the curvature of -log of the density of independent numbers."""
    slope = jax.grad(lambda value: -jnp.sum(prior.log_prob(value)))
    return jax.jvp(slope, (at,), (jnp.ones_like(at),))[1]


def _parts(prior: Any, shape: tuple[int, ...]) -> tuple[jax.Array, ...]:
    """Return location and scale, which the model may have given as integers."""
    real = jnp.result_type(float)
    return tuple(jnp.broadcast_to(x, shape).astype(real) for x in (prior.loc, prior.scale))
