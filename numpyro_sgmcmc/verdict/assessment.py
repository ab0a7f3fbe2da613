"""Three outcomes of a verdict: shown to be right, shown to be wrong, or not known yet."""

from collections.abc import Sequence
from enum import Enum
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from numpyro_sgmcmc.verdict.apart import Apart
from numpyro_sgmcmc.verdict.predictions import Predictions
from numpyro_sgmcmc.verdict.thresholds import (
    COARSE,
    EFFECTIVE_DRAWS,
    FEW_EFFECTIVE_DRAWS,
    LARGEST_R_HAT,
    MEAN_TOLERANCE,
    SD_TOLERANCE,
    UNMIXED_R_HAT,
)
from numpyro_sgmcmc.verdict.unvisited import Unvisited


class Outcome(Enum):
    """What is known of a run; the value is how its sentence begins."""

    CALIBRATED = "Calibrated"
    NOT_CALIBRATED = "Not calibrated"
    NOT_KNOWN = "Not known yet"


class Cause(Enum):
    """Why a run is not called calibrated."""

    DIVERGENCE = "divergence"
    STILL = "still"
    UNMIXED = "unmixed"
    UNVISITED = "unvisited"
    STALENESS = "staleness"
    NOISE = "noise"
    DISCRETISATION = "discretisation"
    COARSE = "coarse"
    SD = "sd"
    MEAN = "mean"
    SHORT = "short"
    UNCHECKED = "unchecked"
    IMPRECISE = "imprecise"


class Worst(NamedTuple):
    """The coordinate of a site that is measured worst.

    Attributes:
        site: its name.
        error: of a standard deviation, relative, or of a mean, in standard deviations.
        lower: bound of the modulus of the kernel's own error, all coordinates taken together.
        upper: bound of the modulus of the reported estimate's error.
        standard_error: Monte Carlo standard error of `error`, the one that decides the bound: as a
            measurement of the kernel's error, or of the reported estimate's.
    """

    site: str
    error: float
    lower: float
    upper: float
    standard_error: float


class Ages(NamedTuple):
    """The ages of a run's gradients, and what they do.

    Attributes:
        mean: in transitions.
        remedy: the remedy in force, or None.
        site: where the error is largest.
        error: relative error of that site's standard deviation, predicted.
    """

    mean: float
    remedy: str | None
    site: str
    error: float


class Evidence(NamedTuple):
    """What an outcome and its sentence depend on; sites are named where they are the worst.

    Attributes:
        diverged: share of diverged iterations.
        step_size: h that the user sets.
        largest_step_size: h from which on errors beyond a Gaussian are not bounded; infinite if
            unknown.
        noise: (site, relative error of the sd by gradient noise), predicted.
        discretisation: (site, relative error of the sd by the step size), predicted.
        sd: measured standard deviations, the worst by each of `Worst`'s bounds: lower, upper.
        largest_sd_bias: bound of the kernel's own relative error of every standard deviation.
        mean: measured means, likewise.
        ess: (site, effective sample size).
        r_hat: (site, R-hat).
        draws: draws in all.
        factor: times as many draws as would bound errors below the tolerances; infinite where no
            number of draws would.
        points: draws at which the gradient is evaluated at most.
        passes: passes over as many rows as the data have that an effective draw took.
        seconds: about what a draw takes, None if not known.
        plates: subsampled plates.
        has_plain_gradient: whether the gradient is the plain one.
        has_correction: whether the noise correction is in use.
        has_latents: whether a chain keeps latents of rows.
        can_be_tuned: whether the warm-up can choose the step size.
        centred: (site, scale) of effects that are better written non-centred; None if there are
            none.
        dimension: of the position.
        temperature: T.
        is_extrapolated: whether estimates are extrapolated.
        unchecked: site that cannot be checked and why, None where all can be.
        predictions: how well functions of the draws are known; None where there are none.
        ages: the ages of gradients; None if they are never old.
        unvisited: a mode that the chains miss; None where none is known.
        apart: chains that sit in different modes; None where all agree or move.
        suits_predictions: whether the warm-up chose settings for predictions, and not for single
            parameters.
        heavy: (site, relative Monte Carlo error of its sd) with heavy tails, whose normal scores
            are judged; None if there is none.
        broken: (site, share of draws) where its derivative is not finite; None if all are finite.
        still: number of chains that do not move at all.
        chains: number of chains.
    """

    diverged: float
    step_size: float
    largest_step_size: float
    noise: tuple[str, float]
    discretisation: tuple[str, float]
    sd: tuple[Worst, Worst]
    largest_sd_bias: float
    mean: tuple[Worst, Worst]
    ess: tuple[str, float]
    r_hat: tuple[str, float]
    draws: int
    factor: float
    points: int
    passes: float
    seconds: float | None
    plates: dict[str, Any]
    has_plain_gradient: bool
    has_correction: bool
    dimension: int
    temperature: float
    is_extrapolated: bool
    unchecked: tuple[str, str] | None
    predictions: Predictions | None
    ages: Ages | None = None
    unvisited: Unvisited | None = None
    apart: Apart | None = None
    suits_predictions: bool = False
    has_latents: bool = False
    can_be_tuned: bool = True
    centred: tuple[str, str] | None = None
    heavy: tuple[str, float] | None = None
    broken: tuple[str, float] | None = None
    still: int = 0
    chains: int = 1


def are_mixed(ess: Sequence[float], r_hat: Sequence[float]) -> bool:
    """Return whether chains mix well enough for other causes to be looked for; NaN says no."""
    few, apart = FEW_EFFECTIVE_DRAWS, UNMIXED_R_HAT
    return all(value >= few for value in ess) and all(value <= apart for value in r_hat)


def assessed(evidence: Evidence) -> tuple[Outcome, list[Cause]]:
    """Return the outcome and its causes, the one to mend first in front.

    A theory's prediction is no cause where measurement excludes it.
    """
    if evidence.diverged > 0:
        return Outcome.NOT_CALIBRATED, [Cause.DIVERGENCE]
    if evidence.still:
        return Outcome.NOT_CALIBRATED, [Cause.STILL]
    ess, r_hat = evidence.ess[1], evidence.r_hat[1]
    if not are_mixed([ess], [r_hat]):
        return Outcome.NOT_KNOWN, [Cause.UNMIXED]
    wrong = []
    ages = evidence.ages
    for cause, (_, error) in (
        (Cause.STALENESS, ("", 0.0) if ages is None else ages[2:]),
        (Cause.NOISE, evidence.noise),
        (Cause.DISCRETISATION, evidence.discretisation),
    ):
        if abs(error) > SD_TOLERANCE and not _is_excluded(error, evidence):
            wrong.append(cause)
    if evidence.step_size > evidence.largest_step_size:
        wrong.append(Cause.COARSE)
    if evidence.sd[0].lower > SD_TOLERANCE:
        wrong.append(Cause.SD)
    if evidence.mean[0].lower > MEAN_TOLERANCE:
        wrong.append(Cause.MEAN)
    if evidence.unvisited is not None:
        wrong.insert(0, Cause.UNVISITED)
    if wrong:
        return Outcome.NOT_CALIBRATED, wrong
    if evidence.unchecked is not None:
        return Outcome.NOT_KNOWN, [Cause.UNCHECKED]
    if not (ess >= EFFECTIVE_DRAWS and r_hat <= LARGEST_R_HAT):
        return Outcome.NOT_KNOWN, [Cause.SHORT]
    if not (evidence.sd[1].upper <= SD_TOLERANCE and evidence.mean[1].upper <= MEAN_TOLERANCE):
        return Outcome.NOT_KNOWN, [Cause.IMPRECISE]
    return Outcome.CALIBRATED, []


def more_draws(evidence: Evidence, outcome: Outcome, causes: list[Cause]) -> int | None:
    """Return how many more draws are expected to decide, None where draws are not the remedy."""
    if outcome is not Outcome.NOT_KNOWN or evidence.unchecked is not None:
        return None
    if causes == [Cause.IMPRECISE] and np.isposinf(evidence.factor):
        return None
    predictions = evidence.predictions
    if evidence.suits_predictions and predictions is not None:
        return None if predictions.mix else _more_for_predictions(predictions, evidence.draws)
    if evidence.apart is not None and causes[0] in (Cause.UNMIXED, Cause.SHORT):
        return None
    measured = evidence.factor if np.isfinite(evidence.factor) else 1.0
    factor = max(_times_as_many(EFFECTIVE_DRAWS, evidence.ess[1], evidence.r_hat[1]), measured)
    return _rounded_up((factor - 1) * evidence.draws)


def _more_for_predictions(found: Predictions, draws: int) -> int:
    """Return how many more draws are expected to let predictions mix, whatever parameters do."""
    factor = _times_as_many(found.needed, found.ess[1], found.r_hat[1])
    return _rounded_up((factor - 1) * draws)


def _times_as_many(needed: float, ess: float, r_hat: float) -> float:
    """Return how many times as many draws are expected to be effective enough, and to agree."""
    short = 1.5 * needed / max(ess, 1.0)
    factor = max(short if np.isfinite(short) else 2.0, 1.5)
    return factor if r_hat <= LARGEST_R_HAT else max(factor, 2.0)


def _rounded_up(more: float) -> int:
    """Return a number of draws, rounded up to two digits."""
    digits = 10 ** max(len(str(int(more))) - 2, 0)
    return ceil(more / digits) * digits


def largest_sound_step(suggested: float, order: int, levels: int, tolerance: float) -> float:
    """Return the step size from which on errors beyond a Gaussian are not bounded.

    A warm-up's own choice changes a variance by `tolerance`; COARSE times that, by
    E = COARSE^order tolerance. With several walkers the error of the coarsest, e, leaves about
    e^levels in the extrapolated estimate, which may be E.

    Args:
        suggested: what a warm-up would choose for the curvature.
        order: of the dynamics' bias.
        levels: number of step sizes.
        tolerance: relative error of a variance that a warm-up allows the step size.
    """
    allowed = (tolerance * COARSE**order) ** (1 / levels)
    return suggested * (allowed / tolerance) ** (1 / order)


def _is_excluded(error: float, evidence: Evidence) -> bool:
    """Return whether measurement shows the estimates right, and excludes so large an error."""
    return (
        evidence.sd[1].upper <= SD_TOLERANCE
        and evidence.mean[1].upper <= MEAN_TOLERANCE
        and evidence.ess[1] >= EFFECTIVE_DRAWS
        and evidence.unchecked is None
        and bool(np.isfinite(error))
        and abs(error) > evidence.largest_sd_bias
    )
