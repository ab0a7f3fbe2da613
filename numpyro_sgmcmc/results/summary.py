"""ArviZ's summary table, made of the estimates that the kernel's paper defines."""

from functools import partial
from typing import Any

import arviz as az
import numpy as np
import pandas as pd

from numpyro_sgmcmc.results.convert import warn_about_verdict
from numpyro_sgmcmc.results.estimate import extrapolated, is_extrapolated, weighted_mean


def summary(data: Any, **options: Any) -> pd.DataFrame:
    """Return ArviZ's table; mean, sd and their standard errors are weighted or extrapolated.

    Intervals are ArviZ's where all draws weigh the same. With decreasing steps or
    Richardson-Romberg they would be of the wrong distribution and are left out. Effective sample
    sizes and R-hat describe the (fine) chain itself.

    Args:
        data: what `to_inference_data` returned.
        **options: of `arviz.summary`, such as `var_names`.

    Raises:
        ValueError: where there are fewer than 4 draws.
    """
    warn_about_verdict(data)
    arguments: dict[str, Any] = {"round_to": "none", **options}
    table: Any = az.summary(data, **arguments)  # a Dataset with fmt="xarray"
    weights = np.asarray(data["sample_stats"]["weight"], np.float64)
    if not is_extrapolated(data) and np.all(weights == weights.flat[0]):
        return table
    table = table.drop(columns=[c for c in table.columns if _is_interval(str(c))])
    for label in table.index:
        column = partial(_column, data, label=str(label))
        first = extrapolated(data, column)
        second = extrapolated(data, lambda group, column=column: column(group) ** 2)
        mean = weighted_mean(first, weights)
        # Linearised: var = E f^2 - (E f)^2 has the influence function f^2 - 2 m f, and sd half of
        # it over sd.
        spread = weighted_mean(second - 2 * mean.value * first, weights)
        variance = float(spread.value + mean.value**2)
        sd = np.sqrt(variance) if variance > 0 else np.nan
        row = {
            "mean": mean.value,
            "sd": sd,
            "mcse_mean": mean.mcse,
            "mcse_sd": spread.mcse / 2 / sd,
        }
        for name, value in row.items():
            if name in table.columns:
                table.loc[label, name] = float(value)
    return table


def _is_interval(column: str) -> bool:
    return column.startswith(("hdi", "eti"))


def _column(data: Any, group: str, label: str) -> np.ndarray:
    name, _, index = label.partition("[")
    array = data[group][name]
    if index:
        places = [part.strip() for part in index.rstrip("]").split(",")]
        for dim, place in zip(array.dims[2:], places, strict=True):
            at = [str(value) for value in np.asarray(array[dim])].index(place)
            array = array.isel({dim: at})
    return np.asarray(array, np.float64)
