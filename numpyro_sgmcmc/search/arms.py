"""The arms of a search: step sizes, minibatch sizes, and kernels that differ in these alone."""

from collections.abc import Iterable
from math import prod
from typing import Any, NamedTuple

import jax
import numpy as np

from numpyro_sgmcmc.checks import check_count, check_number
from numpyro_sgmcmc.kernels import AbstractKernel
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preparation import View, curvatures

DECADES = np.arange(9) / 2
"""Step sizes looked at where none are given: nine, over four decades."""

TINY = 1e-30
"""A step size that bounds no friction: what a kernel is prepared with before its arms' are set."""


class Arm(NamedTuple):
    """A step size, and the rows of a minibatch by plate name."""

    step_size: float
    sizes: dict[str, int]


def suggested_step_sizes(kernel: AbstractKernel, prepared: Any) -> list[float]:
    """Return step sizes over four decades: about the kernel's own, else up to where it is stable.

    The latter is of the curvature at the start. A network's is another where its chain will be:
    hence the decades.

    Args:
        kernel: the kernel that is searched for, with or without a step size.
        prepared: its `Lanes`, for one minibatch size.
    """
    if kernel.options.step_size is not None:
        return [float(kernel.options.step_size(0) * 10.0 ** (2 - e)) for e in DECADES]
    state = prepared.start
    linear = state.tuned.preconditioner.at(state.preconditioner)

    def largest(view: View, position: jax.Array, key: jax.Array) -> jax.Array:
        return curvatures(view, linear, position, key).largest

    curvature = float(prepared.run(largest, prepared.position, jax.random.key(0)))
    if not np.isfinite(curvature) or curvature <= 0:
        raise ValueError(
            f"Expected a positive, finite curvature at the start; got {curvature}. Give"
            " `step_sizes`, or another start."
        )
    dynamics: Any = kernel.options.dynamics.with_friction(state.tuned.friction)
    top = float(dynamics.largest_step_size(curvature, 1.0))
    return [float(top * 10.0**-e) for e in DECADES]


def rows_seen(structure: Structure, sizes: dict[str, int]) -> int:
    """Return the rows of one gradient: of plates that share a site, a row for each pair."""
    groups = structure.groups
    return sum(prod(sizes[name] for name in group) for group in groups) if groups else 1


def check_step_sizes(step_sizes: Iterable[Any]) -> list[float]:
    """Return positive step sizes, each of which is named once."""
    values = [check_number("step_sizes", value) for value in _listed("step_sizes", step_sizes)]
    if len(set(values)) != len(values):
        raise ValueError(f"Expected `step_sizes` that differ; got {values}.")
    return values


def check_sizes(subsample_sizes: Iterable[Any] | None, structure: Structure) -> list[dict]:
    """Return rows of a minibatch by plate name, for each size; None is the model's own."""
    plates = structure.plates
    own = {name: plate.subsample_size for name, plate in plates.items()}
    if subsample_sizes is None:
        return [own]
    if not plates:
        raise ValueError(
            "Expected a model with a subsampled plate to choose `subsample_sizes` for; got none."
            " Give a plate a `subsample_size`, or leave `subsample_sizes` out."
        )
    found = []
    for given in _listed("subsample_sizes", subsample_sizes):
        if not isinstance(given, dict) and len(plates) > 1:
            raise TypeError(
                "Expected each of `subsample_sizes` to be a dict by plate name, as the model has"
                f" the subsampled plates {sorted(plates)}; got {given!r}."
            )
        sizes = given if isinstance(given, dict) else dict.fromkeys(plates, given)
        if not sizes.keys() <= plates.keys():
            raise ValueError(
                f"Expected `subsample_sizes` of the subsampled plates {sorted(plates)}; got"
                f" {sorted(sizes)}."
            )
        counts = {name: check_count("subsample_sizes", value) for name, value in sizes.items()}
        for name, count in counts.items():
            if count > plates[name].size:
                raise ValueError(
                    f"Expected `subsample_sizes` of plate {name!r} to be between 1 and its size"
                    f" {plates[name].size}; got {count}."
                )
        found.append(own | counts)
    if any(sizes in found[:i] for i, sizes in enumerate(found)):
        raise ValueError(f"Expected `subsample_sizes` that differ; got {found}.")
    return found


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, str | dict) or not isinstance(values, Iterable):
        raise TypeError(f"Expected `{name}` to be a list; got {values!r}. Write [{values!r}].")
    listed = list(values)
    if not listed:
        raise ValueError(f"Expected `{name}` to hold at least one; got none. None chooses them.")
    return listed
