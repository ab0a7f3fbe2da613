"""ArviZ's summary table of weighted or extrapolated estimates."""

from collections.abc import Callable
from itertools import product
from typing import Any

import arviz as az
import numpy as np
import xarray as xr

from numpyro_sgmcmc.results.convert import warn_about_verdict
from numpyro_sgmcmc.results.entries import Entry, draws_of, entries, label_of, weights_of
from numpyro_sgmcmc.results.estimate import coefficients, is_extrapolated, weighted_mean
from numpyro_sgmcmc.results.quantile import column_quantiles, distribution_of


def summary(data: Any, **options: Any) -> Any:
    """Return ArviZ's summary table, with estimates that are weighted or extrapolated.

    If all draws have equal weights, the table is ArviZ's. With decreasing steps or
    Richardson-Romberg, mean, sd, median, mad, intervals and their standard errors are those of the
    weighted or extrapolated distribution, as in `expectation` and `quantile`. Effective sample
    sizes and R-hat describe the (fine) chain itself.

    Args:
        data: result of `to_inference_data`.
        **options: of `arviz.summary`, such as `var_names` or `fmt="xarray"`. Numbers are not
            rounded unless `round_to` says to how many decimals.

    Raises:
        ValueError: if there are fewer than 4 draws, or if `stat_funcs` are given and draws have
            unequal weights.
    """
    warn_about_verdict(data)
    return table_of(data, **options)


def table_of(data: Any, **options: Any) -> Any:
    """Return `summary`'s table, without its warning."""
    arguments: dict[str, Any] = {"round_to": "none", **options}
    weights = weights_of(data)
    plain = not is_extrapolated(data) and np.all(weights == weights.flat[0])
    if plain or options.get("group") not in (None, "posterior"):
        return _quietly(az.summary, data, **arguments)
    if options.get("stat_funcs") is not None:
        raise ValueError(
            "Expected no `stat_funcs` for draws of unequal weights, which these functions ignore;"
            " got some. Use expectation(data, fn) or quantile(data, fn, p)."
        )
    fmt = arguments.pop("fmt", "wide")
    round_to = arguments.pop("round_to")
    arviz: Any = az  # its types know nothing of rcParams and of a table that is a Dataset
    layout = "wide" if fmt == "wide" else "xarray"
    found = _quietly(arviz.summary, data, fmt=layout, round_to="none", **arguments)
    by_label = {entry.label: entry for entry in entries(data)}
    probability = (
        options.get("hdi_prob") or options.get("ci_prob") or arviz.rcParams["stats.ci_prob"]
    )
    if fmt == "wide":
        columns = list(found.columns)
        rows = [_row(data, by_label[str(label)], columns, probability) for label in found.index]
        for column in rows[0] if rows else ():
            found[column] = [row[column] for row in rows]
    else:
        _fill(data, found, by_label, probability)
    if isinstance(round_to, int):
        found = found.round(round_to)
    if fmt == "long":
        (metric,) = _metric(found)
        found = found.to_dataframe().reset_index().set_index(metric)
        found.index = list(found.index)
    return found


def _quietly(summary: Callable[..., Any], data: Any, **arguments: Any) -> Any:
    # ArviZ 0.x divides by the variance within chains, 0 for entries that the support fixes. Squares
    # of draws of a diverged run overflow.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return summary(data, **arguments)


def _fill(data: Any, found: xr.Dataset, by_label: dict[str, Entry], probability: float) -> None:
    """Put the estimates where ArviZ's are, entry by entry."""
    (metric,) = _metric(found)
    columns = [str(column) for column in found[metric].values]
    for name, array in found.data_vars.items():
        dims = [str(dim) for dim in array.dims if dim != metric]
        values = np.array(array.transpose(metric, *dims), np.float64)
        for place in product(*(range(found.sizes[dim]) for dim in dims)):
            at = dict(zip(dims, place, strict=True))
            entry = by_label[label_of(str(name), [str(found[d].values[i]) for d, i in at.items()])]
            for column, value in _row(data, entry, columns, probability).items():
                values[(columns.index(column), *place)] = value
        found[name] = xr.DataArray(values, dims=(metric, *dims))


def _metric(found: xr.Dataset) -> set[str]:
    """Return the dimension along which ArviZ lays its columns."""
    return {"metric", "summary"} & {str(dim) for dim in found.sizes}


def _row(data: Any, entry: Entry, columns: list[str], probability: float) -> dict[str, float]:
    """Return the columns that weights or extrapolation change."""
    factors = coefficients(data)
    weights = weights_of(data)
    walkers = np.stack([draws_of(data, group, entry) for group in factors])
    combined = lambda values: np.tensordot(list(factors.values()), values, axes=1)  # noqa: E731
    mean = weighted_mean(combined(walkers), weights)
    # Linearised: var = E f^2 - (E f)^2 has the influence function (f - m)^2, and sd half of it
    # over sd.
    spread = weighted_mean(combined((walkers - mean.value) ** 2), weights)
    sd = np.sqrt(spread.value) if spread.value >= 0 else np.nan
    sd_error = spread.mcse / 2 / sd if sd > 0 else np.nan
    row = {"mean": mean.value, "mcse_mean": mean.mcse, "sd": sd, "mcse_sd": sd_error}
    if "median" in columns:
        half = list(factors.values()), weights, np.array([0.5])
        median = column_quantiles(walkers, *half)
        row |= {"median": median.value[0], "mcse_median": median.mcse[0]}
        row["mad"] = column_quantiles(np.abs(walkers - median.value[0]), *half).value[0]
    ends = [column for column in columns if column.startswith(("hdi", "eti"))]
    if ends:
        distribution = distribution_of(walkers, list(factors.values()), weights)
        tail = (1 - probability) / 2
        if ends[0].startswith("hdi"):
            values = distribution.narrowest(probability)
        else:
            values = distribution.quantile([tail, 1 - tail])
        row |= dict(zip(ends, values, strict=True))
    return {name: float(value) for name, value in row.items() if name in columns}
