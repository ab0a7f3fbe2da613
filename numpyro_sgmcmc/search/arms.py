"""The arms of a search: pairs of a step size and a minibatch size."""

from collections.abc import Iterable
from math import prod
from typing import Any, NamedTuple

import jax
import numpy as np

from numpyro_sgmcmc.checks import check_count, check_number
from numpyro_sgmcmc.kernels import AbstractKernel
from numpyro_sgmcmc.model import Structure
from numpyro_sgmcmc.preparation import View, curvatures
from numpyro_sgmcmc.search.halving import Ranking
from numpyro_sgmcmc.search.lanes import Lanes

DECADES = np.arange(9) / 2
"""Exponents of the default step sizes: nine over four decades."""


class Arm(NamedTuple):
    """A step size, and the number of rows in a minibatch by plate name."""

    step_size: float
    sizes: dict[str, int]


def suggested_step_sizes(kernel: AbstractKernel, lanes: Lanes) -> list[float]:
    """Return step sizes over four decades.

    They are centred at the kernel's own step size. Without one, they extend up to the largest step
    size that is stable for the curvature at the start. The range is wide because the curvature of a
    network is different where the chain will be.

    Args:
        kernel: the kernel to tune, with or without a step size.
        lanes: its lanes for one minibatch size.
    """
    if kernel.options.step_size is not None:
        return [float(kernel.options.step_size(0) * 10.0 ** (2 - e)) for e in DECADES]
    state = lanes.start
    linear = state.tuned.preconditioner.at(state.preconditioner)

    def largest(view: View, position: jax.Array, key: jax.Array) -> jax.Array:
        return curvatures(view, linear, position, key).largest

    curvature = float(lanes.run(largest, lanes.position, jax.random.key(0)))
    if not np.isfinite(curvature) or curvature <= 0:
        raise ValueError(
            f"Expected a positive, finite curvature at the start; got {curvature}. Pass"
            " `step_sizes` or other `init_params`."
        )
    dynamics: Any = kernel.options.dynamics.with_friction(state.tuned.friction)
    top = float(dynamics.largest_step_size(curvature, 1.0))
    return [float(top * 10.0**-e) for e in DECADES]


def most_careful(arms: list[Arm], ranking: Ranking, errors: np.ndarray) -> int:
    """Return the arm of the smallest step size among those that the best one does not beat.

    Both must have come to the last round, with the same minibatch size, and their scores must
    differ by less than the standard error of the difference. A discrepancy over many parameters
    hardly shows the bias of one of them, which the smaller step size makes smaller.

    Args:
        arms: in the order of the ranking's scores.
        ranking: of the arms.
        errors: standard errors of the scores.
    """
    best = ranking.order[0]
    most = ranking.scores[best] + np.hypot(errors, errors[best])
    is_tied = (ranking.scores <= most) & (ranking.rounds == ranking.rounds[best])
    tied = [k for k in ranking.order if is_tied[k] and arms[k].sizes == arms[best].sizes]
    return min([best, *tied], key=lambda k: arms[k].step_size)


def rows_seen(structure: Structure, sizes: dict[str, int]) -> int:
    """Return the number of rows in one gradient; plates that share a site count pairs of rows."""
    groups = structure.groups
    return sum(prod(sizes[name] for name in group) for group in groups) if groups else 1


def check_step_sizes(step_sizes: Iterable[Any]) -> list[float]:
    """Return the step sizes as floats; refuse duplicates."""
    values = [check_number("step_sizes", value) for value in _listed("step_sizes", step_sizes)]
    if len(set(values)) != len(values):
        raise ValueError(f"Expected `step_sizes` that differ; got {values}. Give each once.")
    return values


def check_sizes(subsample_sizes: Iterable[Any] | None, structure: Structure) -> list[dict]:
    """Return the numbers of rows by plate name for each size; None is the model's own size."""
    plates = structure.plates
    own = {name: plate.subsample_size for name, plate in plates.items()}
    if subsample_sizes is None:
        return [own]
    if not plates:
        raise ValueError(
            "Expected a model with a subsampled plate for `subsample_sizes`; got none. Give a plate"
            " a `subsample_size`, or omit `subsample_sizes`."
        )
    found = []
    for given in _listed("subsample_sizes", subsample_sizes):
        if not isinstance(given, dict) and len(plates) > 1:
            raise TypeError(
                "Expected each of `subsample_sizes` to be a dict by plate name, as the model has"
                f" the subsampled plates {sorted(plates)}; got {given!r}. Write"
                f" {dict.fromkeys(sorted(plates), given)!r}."
            )
        sizes = given if isinstance(given, dict) else dict.fromkeys(plates, given)
        if not sizes.keys() <= plates.keys():
            raise ValueError(
                f"Expected `subsample_sizes` of the subsampled plates {sorted(plates)}; got"
                f" {sorted(sizes)}. Use the names of these plates."
            )
        counts = {name: check_count("subsample_sizes", value) for name, value in sizes.items()}
        for name, count in counts.items():
            if count > plates[name].size:
                raise ValueError(
                    f"Expected `subsample_sizes` of plate {name!r} to be between 1 and its size"
                    f" {plates[name].size}; got {count}. Use fewer rows."
                )
        found.append(own | counts)
    if any(sizes in found[:i] for i, sizes in enumerate(found)):
        raise ValueError(f"Expected `subsample_sizes` that differ; got {found}. Give each once.")
    return found


def _listed(name: str, values: Any) -> list[Any]:
    if isinstance(values, str | dict) or not isinstance(values, Iterable):
        raise TypeError(f"Expected `{name}` to be a list; got {values!r}. Write [{values!r}].")
    listed = list(values)
    if not listed:
        raise ValueError(
            f"Expected at least one value in `{name}`; got none. Pass None for the default."
        )
    return listed
