"""Draws of the latents of chosen rows."""

from typing import Any

import numpy as np
import xarray as xr
from numpyro.infer import MCMC

from numpyro_sgmcmc.checks import check_count
from numpyro_sgmcmc.precision import full_precision
from numpyro_sgmcmc.results.latents import rows_first
from numpyro_sgmcmc.results.local_draws import draws_of_rows
from numpyro_sgmcmc.results.subset import chosen_subset
from numpyro_sgmcmc.running import Run, run_of


@full_precision()
def local_posterior(mcmc: MCMC, rows: Any, *, draws: int | None = 200) -> xr.Dataset:
    """Return draws of the latents of chosen rows.

    A run keeps means and standard deviations of the latents of rows, not their draws (the group
    `latents` of `to_inference_data`). Here the latents of a row are drawn given the shared
    parameters of each draw: from their Laplace approximation, followed by 20 Metropolis-Hastings
    moves, which remove its error. Discrete latents are moved by 20 sweeps between neighbouring
    draws, from the last draw backwards, beginning with the latents with which the chain ended.
    Together with the draws of the shared parameters they are draws of their joint posterior.

    Args:
        mcmc: a NumPyro `MCMC` that has run a kernel of this package on a model with latents in a
            subsampled plate.
        rows: a number of rows of the plate, which are drawn at random with a fixed seed, or their
            indices. None is all rows.
        draws: number of draws of each chain, evenly spaced. None is all draws.

    Returns:
        The sites of the rows, with dimensions chain, draw, the plate, and their own. The
        coordinates are the numbers of the draws and of the rows.

    Raises:
        TypeError: if `mcmc` did not run a kernel of this package, or a number is not an integer.
        ValueError: if it has not run yet, if the model has no latents of rows, or if `rows` exceeds
            those of the plate.
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
