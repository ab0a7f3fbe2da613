"""Step size and minibatch size by trial, for models that no theory describes."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import jax
import numpy as np
import pandas as pd

from numpyro_sgmcmc.checks import check_instance, check_number
from numpyro_sgmcmc.kernels import AbstractKernel, NumPyroKernel
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.search.arms import (
    Arm,
    check_sizes,
    check_step_sizes,
    rows_seen,
    suggested_step_sizes,
)
from numpyro_sgmcmc.search.halving import successive_halving
from numpyro_sgmcmc.search.lanes import Lanes
from numpyro_sgmcmc.search.race import Race


class Search(NamedTuple):
    """What a search found.

    Attributes:
        kernel: a kernel with the best numbers, to be run by `MCMC`.
        step_size: its h.
        subsample_size: rows of its minibatches; a dict by plate name where plates are several, None
            where there are none.
        arms: a row for each arm from the best to the worst: its step size and minibatch size, the
            rounds it took part in, its score in the last of them (comparable within a round), its
            transitions and its seconds of sampling.
    """

    kernel: Any
    step_size: float
    subsample_size: int | dict[str, int] | None
    arms: pd.DataFrame


def tune(
    kernel: AbstractKernel,
    key: jax.Array,
    /,
    *model_args: Any,
    budget: float,
    step_sizes: Iterable[float] | None = None,
    subsample_sizes: Iterable[int | dict[str, int]] | None = None,
    unit: Literal["seconds", "gradients"] = "seconds",
    init_params: dict[str, Any] | None = None,
    **model_kwargs: Any,
) -> Search:
    """Search step size and minibatch size by successive halving on the kernel Stein discrepancy.

    For models such as networks, of which `step_size=None` knows too little. The method is MAMBA's
    (Coullon, South and Nemeth 2023): every pair of step size and minibatch size is an arm, all
    start at one place and run for the same time, the third whose draws have the least discrepancy
    goes on for three times as long, until one is left. The discrepancy counts bias and slow mixing
    together, as the mean squared error of an estimate from a run of that length does: a larger
    budget finds a smaller step size. It does not see modes that no arm has visited.

    Two things differ from MAMBA: gradients for the score are of two fresh minibatches at each draw,
    so that their noise does not bias it towards large minibatches (`kernel_stein_discrepancy`); and
    each coordinate is divided by its standard deviation, the median over the arms. The first half
    of the first round is burn-in. Scoring sees about half as many rows as the chains, and is not
    counted; nor is compilation.

    The kernel is run as if it had a step size: what it leaves open is not adapted.

    Args:
        kernel: such as `SGHMCSplit(model)`; its step size, if any, is the middle of `step_sizes`.
        key: a JAX key.
        *model_args: arguments of the model, as for `MCMC.run`.
        budget: of all arms and rounds together, counted in `unit`.
        step_sizes: h to choose from; None is nine over four decades, up to the largest that is
            stable at the start.
        subsample_sizes: minibatch sizes to choose from, for a model with several subsampled plates
            dicts by plate name; None is the model's own. The plates' scale follows.
        unit: "seconds" of sampling, so that the cost of minibatches counts as it is on this
            machine, or "gradients" of a single row, with which the search is reproducible: every
            arm sees the same number of rows.
        init_params: unconstrained values by site name to start at, such as a trained network's.
        **model_kwargs: arguments of the model by name.

    Raises:
        TypeError: where an argument is of a wrong type, or the kernel is Richardson-Romberg's or
            has a schedule.
        ValueError: where a number cannot be used, the budget is too small, or all arms diverge.
    """
    _check_kernel(kernel)
    check_number("budget", budget)
    if unit not in ("seconds", "gradients"):
        raise ValueError(f'Expected `unit` to be "seconds" or "gradients"; got {unit!r}.')
    structure = read_structure(kernel.model, model_args, model_kwargs)
    if structure.dimension == 0:
        raise ValueError("Expected a model with latent sites; got none, so nothing is to be tuned.")
    sizes = check_sizes(subsample_sizes, structure)
    steps = None if step_sizes is None else check_step_sizes(step_sizes)
    key_start, key_score = jax.random.split(key)
    start = key_start, init_params, model_args, model_kwargs
    lanes = [Lanes(kernel, s, rows_seen(structure, s), *start) for s in sizes]
    steps = suggested_step_sizes(kernel, lanes[0]) if steps is None else steps
    arms = [Arm(step, s) for s in sizes for step in steps]
    race = Race(lanes, len(steps), structure.dimension, unit == "seconds", key_score)
    for group in lanes:
        group.open(steps)
    ranking = successive_halving(len(arms), float(budget), race.round)
    best = ranking.order[0]
    if not np.isfinite(ranking.scores[best]):
        raise ValueError(
            f"Expected a step size whose chain stays finite; got none among {steps}. Use smaller"
            " `step_sizes`, or a start (`init_params`) nearer to the posterior."
        )
    arm = arms[best]
    table = pd.DataFrame(
        {
            "step_size": [arms[k].step_size for k in ranking.order],
            "subsample_size": [_as_one(arms[k].sizes) for k in ranking.order],
            "rounds": ranking.rounds[ranking.order],
            "score": ranking.scores[ranking.order],
            "transitions": race.transitions[ranking.order],
            "seconds": race.seconds[ranking.order],
        }
    )
    changed = arm.sizes if subsample_sizes is not None else None
    tuned = kernel.with_numbers(arm.step_size, changed, race.friction(best))
    return Search(tuned, arm.step_size, _as_one(arm.sizes), table)


def _check_kernel(kernel: Any) -> None:
    if isinstance(kernel, NumPyroKernel) and kernel.levels > 1:
        raise TypeError(
            f"Expected a kernel of one walker; got {type(kernel).__name__}, whose extrapolation a"
            " discrepancy of its draws cannot judge. Search for the kernel inside, then wrap what"
            " was found: RichardsonRomberg(tune(SGLD(model), ...).kernel)."
        )
    check_instance("kernel", kernel, AbstractKernel, "SGLD(model) or SGHMCSplit(model)")
    if kernel.options.step_size is not None and not kernel.options.has_constant_step_size:
        raise TypeError(
            "Expected a kernel with a constant step size, or None; got one with a schedule. Search"
            " without it, and let the schedule start at what was found."
        )
    if kernel.options.temperature == 0:
        raise ValueError(
            "Expected a positive temperature; got 0, at which there is no law to be close to."
        )


def _as_one(sizes: dict[str, int]) -> int | dict[str, int] | None:
    return next(iter(sizes.values()), None) if len(sizes) < 2 else sizes
