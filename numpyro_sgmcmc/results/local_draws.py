"""Draws of the latents of rows given the shared parameters of draws."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from tqdm.auto import tqdm

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.latents import LatentState, laplace_rows
from numpyro_sgmcmc.latents.moves import moved_together, visited
from numpyro_sgmcmc.preparation import View
from numpyro_sgmcmc.preparation.latents import potential_of
from numpyro_sgmcmc.results.latents import latents_of
from numpyro_sgmcmc.results.subset import Subset
from numpyro_sgmcmc.results.whole import PATIENCE, Rowwise, blocks, check_size
from numpyro_sgmcmc.running import Run
from numpyro_sgmcmc.verdict.draws import unconstrained

ROWS = 1_024
"""Number of rows in a block: many for vector units, and few for the progress bar to move."""

MOVES = 20
"""Corrected moves of a row's latents at each draw, from its Laplace approximation."""


def draws_of_rows(run: Run, subset: Subset) -> dict[str, np.ndarray]:
    """Return values of the latents of rows by site, (chain, draw, rows, ...).

    Rows are independent of each other given the shared parameters, so that they are drawn in
    blocks, each with keys of its own.

    Raises:
        ValueError: if the result would be too large.
    """
    local = run.structure.local
    assert local is not None
    rows = np.arange(local.rows) if subset.rows is None else np.asarray(subset.rows)
    width = local.width + sum(part.shape[-1] for _, part in local.parts(latents_of(run).discrete))
    check_size(4 * width * len(rows), int(np.prod(subset.shape)))
    flat = unconstrained(run.target, subset.flat()).reshape(*subset.shape, -1)
    positions = np.asarray(flat, np.float32)
    found: dict[str, np.ndarray] = {}
    # Short computations show no progress bar.
    places = tqdm(blocks(len(rows), ROWS), desc="latents of rows", delay=PATIENCE, leave=False)
    for place in places:
        values, discrete = _drawn(run, positions, rows[place], place.start)
        sites = local.split(values)
        for site, part in local.parts(discrete):
            sites[site.name] = part.reshape(*part.shape[:-1], *site.shape).astype(site.dtype)
        for name, value in sites.items():
            shape = (*value.shape[:2], len(rows), *value.shape[3:])
            found.setdefault(name, np.empty(shape, value.dtype))[:, :, place] = value
    return found


def conditions(run: Run, subset: Subset) -> dict[str, Rowwise]:
    """Return the same values as the model has them, with all draws along the first axis."""
    local = run.structure.local
    if local is None:
        return {}
    axes = {site.name: site.axis for site in (*local.sites, *local.discrete)}
    flat = {n: v.reshape(-1, *v.shape[2:]) for n, v in draws_of_rows(run, subset).items()}
    return {n: Rowwise(np.moveaxis(v, 1, 1 + axes[n]), axes[n]) for n, v in flat.items()}


def _drawn(
    run: Run, positions: np.ndarray, rows: np.ndarray, block: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return values of the rows' sites at positions (chain, draw, d).

    The continuous ones are (chain, draw, rows, w), the discrete ones (chain, draw, rows, m).
    """
    keys = jax.random.split(jax.random.fold_in(jax.random.key(3), block), positions.shape[:2])
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
