"""Moments of the latents of rows, which a run keeps in place of their draws."""

from typing import Any

import jax
import numpy as np

from numpyro_sgmcmc.latents import LatentState
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.model.local import split_statistics
from numpyro_sgmcmc.running import Run


def latents_of(run: Run) -> LatentState:
    """Return the latents of rows of a run's chains, with a leading axis."""
    state = run.state.gradient
    return state if run.is_vectorised else jax.tree.map(lambda leaf: leaf[None], state)


def moments(
    run: Run,
) -> tuple[dict[str, np.ndarray], dict[str, list[str | None]], dict[str, Any]]:
    """Return means and standard deviations of each chain by site, names of dimensions, coordinates.

    The mean of a binary site is the probability of 1. Another discrete site with a known, finite
    set of values has the probabilities of all values, along a dimension whose coordinates are the
    values.

    Moments are over the visits of a row after the warm-up, with equal weights even if step sizes
    decrease. A mean is NaN for a row without visits, and a standard deviation for a row with fewer
    than two.
    """
    structure = run.structure
    local, state = structure.local, latents_of(run)
    assert local is not None
    visits = np.asarray(state.visits)[..., None]
    mean = np.where(visits > 0, np.asarray(state.mean), np.nan)
    variance = np.asarray(state.square) / np.maximum(visits - 1, 1)
    sd = np.where(visits > 1, np.sqrt(variance), np.nan)
    arrays: dict[str, np.ndarray] = {}
    dims: dict[str, list[str | None]] = {}
    for name, values in split_statistics(local, mean).items():
        arrays[name], dims[name] = values, ["chain", *rows_first(structure, name)]
    for name, values in split_statistics(local, sd).items():
        arrays[f"{name}_sd"], dims[f"{name}_sd"] = values, dims[name]
    coords = {}
    for site in local.discrete:
        if site.probabilities and not site.is_binary:
            own = f"{site.name}_value"
            coords[own], dims[site.name] = np.asarray(site.support), [*dims[site.name], own]
    arrays |= {"visits": np.asarray(state.visits), "acceptance": np.asarray(state.acceptance)}
    dims |= {"visits": ["chain", local.plate], "acceptance": ["chain"]}
    return arrays, dims, coords


def rows_first(structure: Structure, name: str) -> list[str | None]:
    """Return the names of the dimensions of a site's values with the plate's axis in front."""
    local = structure.local
    assert local is not None
    (site,) = (site for site in (*local.sites, *local.discrete) if site.name == name)
    known = list(structure.dims.get(name, [])) or [None] * (len(site.shape) + 1)
    return [local.plate, *known[: site.axis], *known[site.axis + 1 :]]
