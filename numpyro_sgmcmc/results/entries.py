"""Scalar entries of sites: labels and draws."""

from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np


class Entry(NamedTuple):
    """One scalar of a site.

    Attributes:
        label: the label in ArviZ's tables: the site, with the coordinates of the entry in brackets.
        name: name of the site.
        place: position along each dimension except chain and draw.
    """

    label: str
    name: str
    place: dict[str, int]


def entries(data: Any, var_names: Sequence[str] | None = None) -> list[Entry]:
    """Return the entries of the posterior's sites, in ArviZ's order.

    Raises:
        ValueError: if a site is not in the posterior.
    """
    posterior = data["posterior"]
    names = [str(name) for name in posterior.data_vars]
    if unknown := sorted(set(var_names or ()) - set(names)):
        raise ValueError(f"Expected `var_names` among {names}; got {unknown}.")
    found = []
    for name in names if var_names is None else var_names:
        array = posterior[name]
        dims = [str(dim) for dim in array.dims[2:]]
        labels = [[str(label) for label in np.asarray(array[dim])] for dim in dims]
        for at in product(*(range(len(label)) for label in labels)):
            label = label_of(name, [labels[axis][place] for axis, place in enumerate(at)])
            found.append(Entry(label, name, dict(zip(dims, at, strict=True))))
    return found


def label_of(name: str, coordinates: Sequence[str]) -> str:
    """Return the label of an entry of a site."""
    return f"{name}[{', '.join(coordinates)}]" if coordinates else name


def draws_of(data: Any, group: str, entry: Entry) -> np.ndarray:
    """Return an entry's draws in a group, (chain, draw)."""
    return np.asarray(data[group][entry.name].isel(entry.place), np.float64)


def weights_of(data: Any) -> np.ndarray:
    """Return the weight of each draw: the time that it represents, (chain, draw)."""
    return np.asarray(data["sample_stats"]["weight"], np.float64)


def attributes_of(data: Any) -> dict[str, Any]:
    """Return the attributes of a run, which some file formats store with the groups only."""
    return dict(data.attrs or data["posterior"].attrs)
