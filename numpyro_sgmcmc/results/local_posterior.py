"""Draws of the latents of chosen rows."""

from typing import Any

import numpy as np
import xarray as xr
from numpyro.infer import MCMC

from numpyro_sgmcmc.checks import check_count
from numpyro_sgmcmc.results.latents import rows_first
from numpyro_sgmcmc.results.local_draws import draws_of_rows
from numpyro_sgmcmc.results.subset import chosen_subset
from numpyro_sgmcmc.running import Run, run_of


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
    found = draws_of_rows(run, subset)
    return _dataset(run, found, np.asarray(subset.draws), np.asarray(subset.rows))


def _dataset(
    run: Run, sites: dict[str, np.ndarray], draws: np.ndarray, rows: np.ndarray
) -> xr.Dataset:
    structure = run.structure
    local = structure.local
    assert local is not None
    variables = {}
    for name, array in sites.items():
        names = rows_first(structure, name)
        dims = [own or f"{name}_dim_{axis}" for axis, own in enumerate(names)]
        variables[name] = (("chain", "draw", *dims), array)
    chains = next(iter(sites.values())).shape[0]
    return xr.Dataset(variables, {"chain": np.arange(chains), "draw": draws, local.plate: rows})
