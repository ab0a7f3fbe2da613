"""Coordinates of the latents of rows between the centred and the non-centred form."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from numpyro.infer.util import _unconstrain_reparam

from numpyro_sgmcmc.model.local.sites import Local
from numpyro_sgmcmc.model.location_scale import location_and_scale


class Prior(NamedTuple):
    """Location m and scale s of the prior of each latent number of rows, both (rows, k).

    They are 0 and 1 where a prior has not both.
    """

    location: jax.Array
    scale: jax.Array

    def coordinates(self, latents: jax.Array, weights: jax.Array) -> jax.Array:
        """Return the coordinates of unconstrained values (rows, k), for weights (k,)."""
        ratio = self.scale ** (weights - 1)
        return ratio * (latents - self.location) + weights * self.location


def in_coordinates(
    values: dict[str, jax.Array], weights: dict[str, jax.Array], local: Local
) -> tuple[Callable[[dict[str, Any]], Any], list[jax.Array]]:
    """Return a `substitute_fn` for coordinates, and a list that it fills with log volumes.

    A latent a of a row with the prior's location m and scale s has the coordinate

        y = (a - m) / s^(1 - c) + c m,    a = m + s^(1 - c) (y - c m),

    as effects outside the subsampled plate have in `Coordinates`. m and s may depend on shared
    sites and on earlier latents of the row.

    Args:
        values: by site, unconstrained, or coordinates where there is a weight.
        weights: c by site, with the shape of a row's unconstrained value.
        local: the latent sites of rows.
    """
    axes = {site.name: site.axis for site in local.sites}
    volumes: list[jax.Array] = []

    def value_of(site: dict[str, Any]) -> Any:
        name = site["name"]
        if name not in weights or site["type"] != "sample":
            return _unconstrain_reparam(values, site)
        given, weight = values[name], jnp.expand_dims(weights[name], axes[name])
        location, scale = _parts(site, given.shape)
        logarithm = jnp.broadcast_to((1 - weight) * jnp.log(scale), given.shape)
        volumes.append(jnp.sum(logarithm))
        return location + jnp.exp(logarithm) * (given - weight * location)

    return value_of, volumes


def prior_of(trace: dict[str, Any], local: Local) -> Prior:
    """Return location and scale of the latents' priors in a trace, in rows as they lie in it."""
    locations, scales = [], []
    for site in local.sites:
        given = trace[site.name]
        shape = jnp.shape(given["value"])
        if location_and_scale(given["fn"]) is None:
            rows = shape[site.axis]
            parts = jnp.zeros((rows, *site.free)), jnp.ones((rows, *site.free))
        else:
            parts = tuple(jnp.moveaxis(x, site.axis, 0) for x in _parts(given, shape))
        locations.append(parts[0].reshape(len(parts[0]), -1))
        scales.append(parts[1].reshape(len(parts[1]), -1))
    return Prior(jnp.concatenate(locations, axis=1), jnp.concatenate(scales, axis=1))


def _parts(site: dict[str, Any], shape: tuple[int, ...]) -> tuple[jax.Array, ...]:
    found = location_and_scale(site["fn"])
    assert found is not None
    return tuple(jnp.broadcast_to(part, shape) for part in found)
