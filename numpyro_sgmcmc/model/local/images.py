"""Latents of rows that the model writes non-centred, and the effects that it makes of them."""

from functools import partial
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.cpu.compiling import compiler_options
from numpyro_sgmcmc.model.handlers import with_minibatch
from numpyro_sgmcmc.model.local.sites import Local
from numpyro_sgmcmc.model.scaled import Image, images

LEAST_SCALE = 1e-30
"""Scale up to which an effect does not depend on its latent, as that of a covariate of 0."""

TRIALS, WIDTH, ROWS = 64, 2.0, 256
"""Random positions of shared parameters, their standard deviation, and rows, at which images are
looked at."""


def images_of_rows(structure: Any, args: tuple, kwargs: dict) -> dict[str, Image]:
    """Return the latents x of rows of which the model makes m + s x, by site; see `images`.

    m and s depend on shared sites and on the row, and not on its other latents.
    """
    local: Local = structure.local
    dtype = jnp.result_type(*jax.tree.leaves(structure.prototype))
    own = local.unravel(jnp.zeros((1, local.dimension), dtype))
    model = partial(with_minibatch, structure.model, structure.fixed, key=None)
    rows = {local.plate: jnp.arange(1)}
    given = structure.prototype | own, rows, args, kwargs
    return {found.site: found for found in images(model, *given, of_rows=tuple(own))}


def effects_of_images(
    found: dict[str, Image], shared: dict[str, jax.Array], rows: jax.Array, local: Local
) -> dict[str, tuple[jax.Array, ...]]:
    """Return location and scale of x's prior, m and s by site, (rows, numbers of a row) each.

    Where s is 0, no effect depends on x, which then moves as it is: m is 0 and s is 1.

    Args:
        found: images by site.
        shared: unconstrained values of shared sites.
        rows: the rows' numbers, (n,).
        local: the latent sites of rows.
    """
    dtype = jnp.result_type(*jax.tree.leaves(shared))
    own = local.unravel(jnp.zeros((1, local.dimension), dtype))

    def of_row(row: jax.Array) -> dict[str, tuple[jax.Array, ...]]:
        at, parts = {local.plate: row[None]}, {}
        for name, image in found.items():
            given = image.location_and_scale(shared | own, at)
            *prior, location, scale = (jnp.ravel(part) for part in given)
            is_there = jnp.abs(scale) > LEAST_SCALE
            effect = jnp.where(is_there, location, 0.0), jnp.where(is_there, scale, 1.0)
            parts[name] = *prior, *effect
        return parts

    return jax.vmap(of_row)(rows)


def values_of_images(
    found: dict[str, Image],
    weights: dict[str, jax.Array],
    shared: dict[str, jax.Array],
    latents: jax.Array,
    rows: jax.Array,
    local: Local,
) -> tuple[jax.Array, jax.Array]:
    """Return latents of rows whose images move in coordinates, and the log volume of this map.

    An effect a = m + s x has the coordinate y = |s|^b x + c m, as in `in_coordinates` for a
    positive s. The prior of x has the location 0 and the scale 1.

    Args:
        found: images by site, all of which have weights.
        weights: c and b by site and row, as for `in_coordinates`.
        shared: unconstrained values of shared sites.
        latents: unconstrained values, or coordinates, (n, k).
        rows: the rows' numbers, (n,).
        local: the latent sites of rows.
    """
    parts = effects_of_images(found, shared, rows, local)
    volume, start = jnp.zeros((), latents.dtype), 0
    for site in local.sites:
        place = slice(start, start + prod(site.free))
        start = place.stop
        if site.name not in found:
            continue
        _, _, location, scale = parts[site.name]
        both = weights[site.name][rows].reshape(*location.shape, 2)
        logarithm = both[..., 1] * jnp.log(jnp.abs(scale))
        centre = both[..., 0] * location
        latents = latents.at[:, place].set(jnp.exp(-logarithm) * (latents[:, place] - centre))
        volume = volume - jnp.sum(logarithm)
    return latents, volume


def usable_images(structure: Any, args: tuple, kwargs: dict) -> dict[str, Image]:
    """Return the images m + s x of a standard x whose s has one sign for each row.

    A loading of either sign, say, is left as it is. This is seen at random positions.
    """
    found, local = images_of_rows(structure, args, kwargs), structure.local
    if not found:
        return {}
    dimension = structure.dimension
    some = np.random.default_rng(0).normal(0.0, WIDTH, (TRIALS, dimension))
    rows = jnp.asarray(np.unique(np.linspace(0, local.rows - 1, ROWS).astype(int)))

    # Compiled for one call: without optimisation, which takes most of the time and memory.
    @partial(jax.jit, compiler_options=compiler_options(dimension, optimise=False))
    def parts_at(positions: jax.Array) -> dict[str, tuple[jax.Array, ...]]:
        def at(position: jax.Array) -> dict[str, tuple[jax.Array, ...]]:
            return effects_of_images(found, structure.unravel(position), rows, local)

        return jax.vmap(at)(positions)

    dtype = jnp.result_type(*jax.tree.leaves(structure.prototype))
    parts = jax.tree.map(np.asarray, parts_at(jnp.asarray(some, dtype)))
    return {name: found[name] for name, given in parts.items() if _is_usable(*given)}


def _is_usable(own: np.ndarray, own_scale: np.ndarray, at: np.ndarray, scale: np.ndarray) -> bool:
    is_standard = np.all(own == 0) and np.all(own_scale == 1)
    is_finite = np.all(np.isfinite(at)) and np.all(np.isfinite(scale))
    return bool(is_standard and is_finite and np.all(np.sign(scale) == np.sign(scale[0])))
