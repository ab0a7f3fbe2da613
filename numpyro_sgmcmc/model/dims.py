"""Names of the dimensions of a model's sites, from its plates and its `event_dims`."""

from typing import Any

import jax.numpy as jnp


def named_dims(trace: dict[str, Any]) -> dict[str, list[str | None]]:
    """Return the names of the dimensions of each site's value, with None for a dimension without.

    A plate names its own dimension. `numpyro.sample(..., infer={"event_dims": ["feature"]})` names
    all other dimensions of a site, as in ArviZ's own converter. Sites without any name are left
    out.

    Raises:
        TypeError: if `event_dims` is not a list of strings.
        ValueError: if their number is not that of the dimensions without a plate, or a name occurs
            twice.
    """
    found = {}
    for name, site in trace.items():
        if site["type"] not in ("sample", "deterministic"):
            continue
        given = (site.get("infer") or {}).get("event_dims", [])
        if not (site["cond_indep_stack"] or given):
            continue
        named, of_plates = _plate_dims(trace, site)
        if given:
            free = [axis for axis in range(len(named)) if axis not in of_plates]
            for axis, dim in zip(free, _checked(name, given, free), strict=True):
                named[axis] = _apart(trace, dim)
        if twice := sorted({dim for dim in named if dim and named.count(dim) > 1}):
            raise ValueError(
                f"Expected different names for the dimensions of site {name!r}; got {named}. Rename"
                f" {', '.join(map(repr, twice))} in its `event_dims`."
            )
        found[name] = named
    return found


def _plate_dims(trace: dict[str, Any], site: dict[str, Any]) -> tuple[list[str | None], set[int]]:
    """Return the names that plates give, and the axes of the plates."""
    shape = jnp.shape(site["value"])
    event = len(site["fn"].event_shape) if site["type"] == "sample" else 0
    named: list[str | None] = [None] * len(shape)
    of_plates = set()
    for frame in site["cond_indep_stack"]:
        axis = len(shape) - event + frame.dim
        of_plates.add(axis)
        if axis >= 0 and shape[axis] == frame.size:
            named[axis] = _apart(trace, frame.name)
    return named, of_plates


def _checked(site: str, given: Any, free: list[int]) -> list[str]:
    if not isinstance(given, list | tuple) or not all(isinstance(dim, str) for dim in given):
        raise TypeError(
            f"Expected `event_dims` of site {site!r} to be a list of names such as ['feature']; got"
            f" {given!r}."
        )
    if len(given) != len(free):
        raise ValueError(
            f"Expected `event_dims` of site {site!r} to name its {len(free)} dimension(s) without a"
            f" plate; got {len(given)}: {list(given)}. Give one name for each of them."
        )
    return list(given)


def _apart(trace: dict[str, Any], dim: str) -> str:
    # xarray requires that variables and dimensions have different names.
    is_site = dim in trace and trace[dim]["type"] in ("sample", "deterministic")
    return f"{dim}_dim" if is_site else dim
