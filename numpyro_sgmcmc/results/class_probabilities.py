"""Posterior probabilities of the states of discrete latent sites."""

from typing import Any

import numpy as np
import xarray as xr
from numpyro.infer import MCMC

from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.precision import full_precision
from numpyro_sgmcmc.results import whole
from numpyro_sgmcmc.results.subset import chosen_subset
from numpyro_sgmcmc.running import Run, run_of


@full_precision()
def class_probabilities(
    mcmc: MCMC, site: str | None = None, *, rows: Any = None, draws: int | None = None
) -> xr.DataArray:
    """Return the posterior probability of each state of a discrete latent site.

    For a site z it is the mean over the draws θ of p(z | θ, data), which is computed exactly for
    each draw by a sum over all other discrete sites. The draws have the weights of `expectation`.
    For Richardson-Romberg they are those of the finest walker, because an extrapolated probability
    can be negative.

    Args:
        mcmc: a NumPyro `MCMC` that has run a kernel of this package.
        site: name of the discrete site; it can be omitted if the model has only one.
        rows: a number of rows of the longest subsampled plate, which are drawn at random with a
            fixed seed, or their indices. None is all rows.
        draws: number of draws of each chain, evenly spaced. None is all draws.

    Returns:
        An array with the site's plates as dimensions, and the dimension `state` last, whose
        coordinates are the values of the site.

    Raises:
        TypeError: if `mcmc` did not run a kernel of this package.
        ValueError: if it has not run yet, if the model has no such site, or if `rows` or `draws`
            exceed those of the run.
    """
    run = run_of(mcmc)
    structure = run.structure
    name = _chosen_site(structure, site)
    subset = chosen_subset(structure, run.draws, rows, draws)
    found = whole.class_probabilities(
        structure, run.target.args, run.target.kwargs, subset.flat(), name, subset.rows
    )
    weights = _weights(run, subset.draws)
    mean = np.tensordot(weights, np.asarray(found, np.float64), 1) / weights.sum()
    plates, plate = structure.enumeration.plates[name], whole.longest_plate(structure)
    coords: dict[str, Any] = {"state": structure.enumeration.support[name]}
    if plate in plates:
        chosen = np.arange(structure.plates[plate].size) if subset.rows is None else subset.rows
        coords[plate] = chosen
    return xr.DataArray(mean, coords, (*plates, "state"), name)


def _chosen_site(structure: Structure, site: str | None) -> str:
    known = list(structure.enumeration.dims)
    if site is None and len(known) == 1:
        return known[0]
    if site in known:
        return site
    if structure.local is not None and site in (None, *structure.local.names):
        raise ValueError(
            "Expected a model whose discrete sites are summed out; got one that keeps them for all"
            " rows. Their probabilities are in the group `latents` of `to_inference_data`."
        )
    if not known:
        raise ValueError(
            "Expected a model with a discrete latent site; got one without. Use"
            " `mcmc.get_samples()` for continuous sites."
        )
    raise ValueError(
        f"Expected `site` to be a discrete latent site of the model; got {site!r}. Choose one of"
        f" {known}."
    )


def _weights(run: Run, chosen: np.ndarray | None) -> np.ndarray:
    if not run.structure.prototype:  # nothing was drawn
        return np.ones(1)
    weights = np.asarray(run.statistics["weight"], np.float64)
    return (weights if chosen is None else weights[:, chosen]).reshape(-1)
