"""Groups of arrays in the form of the installed ArviZ: `InferenceData` (0.x), `DataTree` (1.x)."""

from typing import Any

import arviz as az
import numpy as np
import xarray as xr

ARVIZ_MAJOR = int(az.__version__.split(".")[0])

WITHOUT_DRAWS = ("observed_data", "constant_data", "gradient_noise", "latents")
"""Groups whose arrays have no axis of draws."""


def assemble(
    groups: dict[str, dict[str, Any]],
    coords: dict[str, Any],
    dims: dict[str, list[str | None]],
    attributes: dict[str, Any],
    own_coords: dict[str, dict[str, Any]] | None = None,
    own_dims: dict[str, dict[str, list[str | None]]] | None = None,
) -> Any:
    """Return the groups without empty ones; `own_...` are coordinates and dims of single groups."""
    own, named = own_coords or {}, own_dims or {}
    datasets = {
        name: _dataset(
            arrays,
            coords | own.get(name, {}),
            dims | named.get(name, {}),
            attributes,
            sampled=name not in WITHOUT_DRAWS,
        )
        for name, arrays in groups.items()
        if arrays or name == "posterior"
    }
    return from_datasets(datasets, attributes)


def from_datasets(datasets: dict[str, xr.Dataset], attributes: dict[str, Any]) -> Any:
    """Return the groups, given as datasets."""
    if ARVIZ_MAJOR == 0:
        inference_data: Any = az.InferenceData
        return inference_data(**datasets, attrs=attributes)
    tree = xr.DataTree.from_dict(datasets)
    tree.attrs = dict(attributes)
    return tree


def without_slashes(name: str) -> str:
    """Return a name without slashes, which files and the trees of ArviZ 1.x read as paths."""
    return name.replace("/", ".")


def group_names(data: Any) -> list[str]:
    """Return the names of the groups."""
    return list(data.groups()) if ARVIZ_MAJOR == 0 else list(data.children)


def check_dims(groups: dict[str, dict[str, Any]], dims: dict[str, list[str]]) -> None:
    """Refuse more names of dimensions than a variable has; ArviZ names dimensions without a name.

    Raises:
        ValueError: if there are too many names; the message names the variable.
    """
    for name, own in dims.items():
        axes = [
            np.ndim(arrays[name]) - (0 if group in WITHOUT_DRAWS else 2)
            for group, arrays in groups.items()
            if name in arrays
        ]
        if axes and len(own) > max(axes):
            raise ValueError(
                f"Expected at most {max(axes)} name(s) for {name!r} in `dims`, one for each"
                f" dimension besides chain and draw; got {len(own)}: {list(own)}. Leave out the"
                " others."
            )


def _dataset(
    arrays: dict[str, Any],
    coords: dict[str, Any],
    dims: dict[str, list[str | None]],
    attributes: dict[str, Any],
    *,
    sampled: bool,
) -> xr.Dataset:
    lead = ("chain", "draw") if sampled else ()
    variables = {}
    for name, value in arrays.items():
        array = np.asarray(value)
        own = list(dims.get(name) or [])
        own += [None] * (array.ndim - len(lead) - len(own))
        names = [d or f"{name}_dim_{i}" for i, d in enumerate(own[: array.ndim - len(lead)])]
        if without_slashes(name) in variables:
            raise ValueError(
                f"Expected sites whose names differ in more than '/' and '.'; got {name!r} and"
                " another one. Rename one of them in the model."
            )
        variables[without_slashes(name)] = (*lead, *map(without_slashes, names)), array
    dataset = xr.Dataset({n: xr.Variable(d, v) for n, (d, v) in variables.items()})
    coords = {without_slashes(dimension): label for dimension, label in coords.items()}
    labels = {str(d): coords.get(str(d), np.arange(n)) for d, n in dataset.sizes.items()}
    for name, label in labels.items():
        if len(label) != dataset.sizes[name]:
            raise ValueError(
                f"Expected {dataset.sizes[name]} labels for dimension {name!r} in `coords`; got"
                f" {len(label)}. Give one label for each entry."
            )
    return dataset.assign_coords(labels).assign_attrs(attributes)
