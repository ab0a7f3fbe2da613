"""Draws of equal weight, for functions that ignore weights."""

from typing import Any

import numpy as np
import xarray as xr

from numpyro_sgmcmc.checks import check_count
from numpyro_sgmcmc.results.entries import attributes_of, weights_of
from numpyro_sgmcmc.results.groups import from_datasets, group_names


def thin_by_weight(data: Any, num_draws: int | None = None) -> Any:
    """Return draws that are evenly spaced in simulated time, and so have equal weights.

    Each chain is cut into `num_draws` stretches of equal weight and the draw in the middle of each
    is kept, in every group that has draws. Plain averages over these draws estimate the same
    expectations as weighted averages over all draws, so that any plot or table of ArviZ shows the
    right distribution. With a constant step size and without `num_draws` all draws are kept.

    A Richardson-Romberg run is thinned walker by walker: no draws of equal weight have the
    distribution that is extrapolated, and `posterior` keeps the bias of the fine walker.

    Args:
        data: result of `to_inference_data`.
        num_draws: number of draws of each chain. None is the largest number for which no draw is
            taken twice.

    Raises:
        TypeError: if `num_draws` is not an integer.
        ValueError: if it is not positive.
    """
    weights = weights_of(data)
    most = int(np.min(weights.sum(1) / weights.max(1)) * (1 + 1e-9))
    count = most if num_draws is None else check_count("num_draws", num_draws)
    reached = np.cumsum(weights, axis=1) / weights.sum(1, keepdims=True)
    middles = (np.arange(count) + 0.5) / count
    kept = np.stack([np.searchsorted(chain, middles) for chain in reached])
    places = xr.DataArray(kept, dims=("chain", "draw"))
    chains = xr.DataArray(np.arange(len(weights)), dims="chain")
    found = {}
    for name in group_names(data):
        group = data[name]
        dataset = group if isinstance(group, xr.Dataset) else group.to_dataset()
        if "draw" in dataset.sizes:
            labels = {"chain": dataset["chain"].values, "draw": np.arange(count)}
            dataset = dataset.drop_vars(["chain", "draw"]).isel(chain=chains, draw=places)
            dataset = dataset.assign_coords(labels)
        found[name] = dataset
    even = np.broadcast_to(weights.sum(1, keepdims=True) / count, (len(weights), count))
    stats = found["sample_stats"]
    found["sample_stats"] = stats.assign(weight=(("chain", "draw"), even.astype(np.float64)))
    return from_datasets(found, attributes_of(data))
