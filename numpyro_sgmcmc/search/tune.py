"""Search for step size and minibatch size by trial, for models that theory does not describe."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import jax
import numpy as np
import pandas as pd

from numpyro_sgmcmc.checks import check_instance, check_number
from numpyro_sgmcmc.kernels import AbstractKernel, NumPyroKernel
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.precision import full_precision
from numpyro_sgmcmc.search.arms import (
    Arm,
    check_sizes,
    check_step_sizes,
    most_careful,
    rows_seen,
    suggested_step_sizes,
)
from numpyro_sgmcmc.search.halving import successive_halving
from numpyro_sgmcmc.search.lanes import Lanes
from numpyro_sgmcmc.search.race import Race


class Search(NamedTuple):
    """The result of a search.

    Attributes:
        kernel: a kernel with the best numbers, ready for `MCMC`.
        step_size: its step size h.
        subsample_size: number of rows in its minibatches; a dict by plate name for several plates,
            None without a subsampled plate.
        arms: table with a row for each arm, from the best to the worst: step size, minibatch size,
            number of rounds, score in the last round (comparable within a round) with its standard
            error, number of transitions, and seconds of sampling.
    """

    kernel: AbstractKernel
    step_size: float
    subsample_size: int | dict[str, int] | None
    arms: pd.DataFrame


@full_precision()
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

    Use it for models such as networks, for which the measurements of `step_size=None` are not
    sufficient. The method is that of MAMBA (Coullon, South and Nemeth 2023). Each pair of a step
    size and a minibatch size is an arm. All arms start at the same position and run for the same
    time. The third of the arms whose draws have the smallest discrepancy continues for three times
    as long, and so on until one arm is left. The discrepancy measures bias and slow mixing
    together, as the mean squared error of an estimate does, so a larger budget leads to a smaller
    step size. It does not detect modes that no arm has visited.

    There are three differences from MAMBA. Of the arms of the last round that the best one does not
    beat beyond the standard error of the difference, the one with the smallest step size is
    returned, as the smaller bias. The gradients for the score come from two fresh
    minibatches at each draw, so that their noise does not favour large minibatches. Each coordinate
    is divided by its standard deviation (the median over the arms). The first half of the first
    round is burn-in. Scoring uses about half as many rows as the chains. The budget does not
    include scoring and compilation.

    The warm-up keeps every standard deviation within 5 %, whatever the length of the run. A search
    accepts a bias that hides in the Monte Carlo error of its budget, and a bias of one parameter
    hides among many. On a logistic regression both choose the same step size. On a hierarchy of 23
    parameters the search chose one of about three times the warm-up's, and the verdict named a
    standard deviation that was 5 % off. So call `diagnose` on the run with the kernel that is
    returned.

    No warm-up takes place: options that the kernel leaves open are not adapted. An iteration is one
    transition unless the kernel has a `num_steps`, also for the kernel that is returned.

    References:
        Coullon, South and Nemeth 2023, "Efficient and Generalizable Tuning Strategies for
        Stochastic Gradient MCMC", https://arxiv.org/abs/2105.13059

    Args:
        kernel: a kernel such as `SGHMCSplit(model)`. If it has a step size, that is the middle of
            the default `step_sizes`.
        key: a JAX key.
        *model_args: arguments of the model, as for `MCMC.run`.
        budget: budget of all arms and rounds together, in the unit `unit`.
        step_sizes: step sizes h to choose from. None is nine step sizes over four decades, up to
            the largest one that is stable at the start.
        subsample_sizes: minibatch sizes to choose from; dicts by plate name for a model with
            several subsampled plates. None is the model's own size. The scale of the plates is
            adapted.
        unit: "seconds" of sampling, which include the actual cost of minibatches on this machine,
            or "gradients" of single rows, which make the search reproducible: all arms use the
            same number of rows.
        init_params: unconstrained values by site name for the start, such as those of a trained
            network.
        **model_kwargs: arguments of the model by name.

    Raises:
        TypeError: if an argument has the wrong type, or the kernel is an extrapolation or has a
            schedule.
        ValueError: if a number cannot be used, the budget is too small, all arms diverge, or the
            model has latents of rows.
    """
    _check_kernel(kernel)
    check_number("budget", budget)
    if unit not in ("seconds", "gradients"):
        raise ValueError(f'Expected `unit` to be "seconds" or "gradients"; got {unit!r}.')
    move = kernel.options.latent_move
    structure = read_structure(kernel.model, model_args, model_kwargs, move)
    if structure.dimension == 0:
        raise ValueError(
            "Expected a model with latent sites; got none, so there is nothing to tune. Use"
            " `numpyro.sample` without `obs` for what is unknown."
        )
    if structure.local is not None:
        raise ValueError(
            "Expected a model without latents of rows; got"
            f" {', '.join(map(repr, structure.local.names))} in a subsampled plate. Use the kernel"
            " without a step size: its warm-up chooses one."
        )
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
    best = most_careful(arms, ranking, race.errors)
    if not np.isfinite(ranking.scores[best]):
        raise ValueError(
            f"Expected a step size whose chain stays finite; got none among {steps}. Use smaller"
            " `step_sizes`, or `init_params` closer to the posterior."
        )
    arm = arms[best]
    order = [best, *(k for k in ranking.order if k != best)]
    table = pd.DataFrame(
        {
            "step_size": [arms[k].step_size for k in order],
            "subsample_size": [_as_one(arms[k].sizes) for k in order],
            "rounds": ranking.rounds[order],
            "score": ranking.scores[order],
            "score_error": race.errors[order],
            "transitions": race.transitions[order],
            "seconds": race.seconds[order],
        }
    )
    changed = arm.sizes if subsample_sizes is not None else None
    tuned = kernel.with_numbers(arm.step_size, changed, race.friction(best))
    return Search(tuned, arm.step_size, _as_one(arm.sizes), table)


def _check_kernel(kernel: Any) -> None:
    if isinstance(kernel, NumPyroKernel) and kernel.levels > 1:
        raise TypeError(
            f"Expected a kernel with a single walker; got {type(kernel).__name__}. A discrepancy of"
            " draws cannot score extrapolated estimates. Tune the kernel inside and wrap the"
            " result: RichardsonRomberg(tune(SGLD(model), ...).kernel)."
        )
    if isinstance(kernel, NumPyroKernel) and kernel.replicas > 1:
        raise TypeError(
            f"Expected a kernel with a single walker; got {type(kernel).__name__}. Tune the kernel"
            " inside and wrap the result: ReplicaExchange(tune(SGLD(model), ...).kernel, [1, 2])."
        )
    check_instance("kernel", kernel, AbstractKernel, "SGLD(model) or SGHMCSplit(model)")
    if kernel.options.staleness is not None:
        raise TypeError(
            "Expected a kernel with fresh gradients; got a StaleGradient. Tune the kernel inside"
            " and wrap the result: StaleGradient(tune(SGHMCSplit(model), ...).kernel, delay). Then"
            " compare the verdicts of smaller step sizes."
        )
    if kernel.options.step_size is not None and not kernel.options.has_constant_step_size:
        raise TypeError(
            "Expected a kernel with a constant step size, or None; got one with a schedule. Tune"
            " without the schedule, and let it start at the step size that was found."
        )
    if kernel.options.temperature == 0:
        raise ValueError(
            "Expected a positive temperature; got 0, at which there is no posterior to sample. Use"
            " temperature=1."
        )


def _as_one(sizes: dict[str, int]) -> int | dict[str, int] | None:
    return next(iter(sizes.values()), None) if len(sizes) < 2 else sizes
