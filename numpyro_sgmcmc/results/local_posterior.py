"""Draws of the latents of chosen rows."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from numpyro.infer import MCMC

from numpyro_sgmcmc.checks import check_count
from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents import LatentState, laplace_rows
from numpyro_sgmcmc.latents.moves import moved_together, visited
from numpyro_sgmcmc.preparation import View
from numpyro_sgmcmc.preparation.latents import potential_of
from numpyro_sgmcmc.results.latents import latents_of, rows_first
from numpyro_sgmcmc.results.subset import chosen_subset
from numpyro_sgmcmc.running import Run, run_of
from numpyro_sgmcmc.verdict.draws import unconstrained

MOVES = 20
"""Corrected moves of a row's latents at each draw, from its Laplace approximation."""


def local_posterior(mcmc: MCMC, rows: Any, *, draws: int | None = 200) -> xr.Dataset:
    """Return draws of the latents of chosen rows.

    A run keeps means and standard deviations of the latents of rows, not their draws (the group
    `latents` of `to_inference_data`). Here the latents of a row are drawn given the shared
    parameters of each draw: from their Laplace approximation, followed by 20 moves of Metropolis
    and Hastings, which take out its error. Discrete latents are moved by as many sweeps from one
    draw to the one before, beginning with the latents that the chain ended with. Together with the
    draws of the shared parameters they are draws of their joint posterior.

    Args:
        mcmc: a NumPyro `MCMC` that has run a kernel of this package on a model with latents in a
            subsampled plate.
        rows: how many rows of the plate (drawn at random, and the same ones each time), or which.
        draws: how many draws of each chain, evenly spaced; None is all.

    Returns:
        The sites of the rows, with dimensions chain, draw, the plate, and their own. The
        coordinates are the numbers of the draws and of the rows.

    Raises:
        TypeError: if `mcmc` did not run a kernel of this package, or a number is not an integer.
        ValueError: if it has not run yet, the model has no latents of rows, or rows or draws are
            asked for that there are not.
    """
    run = run_of(mcmc)
    structure = run.structure
    if structure.local is None:
        raise ValueError(
            "Expected a model with latent sites in a subsampled plate; got one without. Its latent"
            " sites are all among the draws: use `mcmc.get_samples()`."
        )
    if rows is None:
        rows = structure.local.rows
    sites = {name: np.asarray(run.draws[name]) for name in structure.prototype}
    length = next(iter(sites.values())).shape[1]
    count = length if draws is None else min(check_count("draws", draws), length)
    subset = chosen_subset(structure, sites, rows, count)
    flat = unconstrained(run.target, subset.flat()).reshape(*subset.shape, -1)
    found = _drawn(run, np.asarray(flat, np.float32), np.asarray(subset.rows))
    return _dataset(run, *found, np.asarray(subset.draws), np.asarray(subset.rows))


def _drawn(run: Run, positions: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values of the rows' sites at positions (chain, draw, d).

    The continuous ones are (chain, draw, rows, w), the discrete ones (chain, draw, rows, m).
    """
    keys = jax.random.split(jax.random.key(3), positions.shape[:2])
    dtype = jnp.result_type(*jax.tree.leaves(run.structure.prototype))
    inputs = jnp.asarray(positions, dtype), keys, latents_of(run), jnp.asarray(rows, jnp.int32)
    values, discrete = run.target.run(_draws, *inputs)
    return np.asarray(values), np.asarray(discrete)


def _draws(
    view: View, positions: jax.Array, keys: jax.Array, states: LatentState, rows: jax.Array
) -> tuple[jax.Array, jax.Array]:
    local = view.structure.local
    assert local is not None

    def of_chain(inputs: tuple[jax.Array, jax.Array, LatentState]) -> tuple[jax.Array, jax.Array]:
        points, keys, state = inputs
        one = partial(_draw, view, state.values[rows], state.step, rows)
        discrete = state.discrete[rows]
        if not local.discrete:
            values = jax.lax.map(lambda pair: one(discrete, *pair)[0], (points, keys))
            return values, jnp.zeros((*values.shape[:2], 0), discrete.dtype)

        def body(discrete: jax.Array, pair: tuple) -> tuple[jax.Array, tuple]:
            found = one(discrete, *pair)
            return found[1], found

        return jax.lax.scan(body, discrete, (points, keys), reverse=True)[1]

    return jax.lax.map(of_chain, (positions, keys, states))


def _draw(
    view: View,
    start: jax.Array,
    step: jax.Array,
    rows: jax.Array,
    discrete: jax.Array,
    position: jax.Array,
    key: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """Return continuous and discrete values of rows at a draw, from discrete ones nearby."""
    key_first, key_moves = random.split(key)
    potential, latents = potential_of(view), start
    factor = jnp.zeros((len(rows), 0, 0), start.dtype)
    if start.shape[1]:
        found = laplace_rows(potential, position, start, rows, discrete=discrete)
        noise = random.normal(key_first, start.shape, start.dtype)
        factor = found.factor
        latents = found.latents + jnp.einsum("bij,bj->bi", factor, noise)
    first = visited(potential, position, latents, rows, discrete)

    def body(number: jax.Array, before: Any) -> Any:
        own = random.fold_in(key_moves, number)
        return moved_together(potential, position, before, rows, factor, step, own)[0]

    after = jax.lax.fori_loop(0, MOVES, body, first)
    return after.values, after.discrete


def _dataset(
    run: Run, values: np.ndarray, discrete: np.ndarray, draws: np.ndarray, rows: np.ndarray
) -> xr.Dataset:
    structure = run.structure
    local = structure.local
    assert local is not None
    variables = {}
    sites = local.split(values)
    for site, part in local.parts(discrete):
        sites[site.name] = part.reshape(*part.shape[:-1], *site.shape).astype(site.dtype)
    for name, array in sites.items():
        names = rows_first(structure, name)
        dims = [own or f"{name}_dim_{axis}" for axis, own in enumerate(names)]
        variables[name] = (("chain", "draw", *dims), array)
    coords = {"chain": np.arange(values.shape[0]), "draw": draws, local.plate: rows}
    return xr.Dataset(variables, coords)
