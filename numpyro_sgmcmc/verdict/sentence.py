"""One sentence: calibrated, or what is wrong and the number that mends it."""

from typing import Any, NamedTuple

import numpy as np

SD_ERROR = 0.05
"""Relative error of a standard deviation from which on a posterior is called wrong."""

MEAN_ERROR = 0.1
"""Error of a mean, in standard deviations, likewise."""

EFFECTIVE_DRAWS = 400
LARGEST_R_HAT = 1.02
"""1.01 plus what an effective sample size of 400 leaves to chance."""

COARSE = 2.0
"""Times the step size that a warm-up would choose for the curvature: from there on the
discretisation's error is no longer small, even where a Gaussian would not show it."""

STANDARD_ERRORS = 3.0
"""Monte Carlo standard errors that a measured error is allowed beyond those bounds."""


class Found(NamedTuple):
    """What a sentence is made of; sites are named where they are the worst.

    Attributes:
        diverged: share of diverged iterations.
        step_size: h in use.
        largest_step_size: h that a warm-up would choose for the curvature; infinite if unknown.
        noise: (site, relative inflation of the sd by gradient noise).
        discretisation: (site, relative error of the sd by the step size).
        inflation: (site, measured relative error of the sd, its standard error).
        shift: (site, measured error of the mean in sd, its standard error).
        ess: (site, effective sample size).
        r_hat: (site, R-hat).
        draws: draws in all.
        batches: rows of a minibatch, by plate.
        is_plain: whether the gradient is the plain one.
        is_known: whether variances were compared coordinate by coordinate.
    """

    diverged: float
    step_size: float
    largest_step_size: float
    noise: tuple[str, float]
    discretisation: tuple[str, float]
    inflation: tuple[str, float, float]
    shift: tuple[str, float, float]
    ess: tuple[str, float]
    r_hat: tuple[str, float]
    draws: int
    batches: dict[str, Any]
    is_plain: bool
    is_known: bool


def judged(found: Found) -> tuple[bool, str]:
    """Return whether a run is calibrated, and the sentence; the gravest cause comes first."""
    for check in (_divergence, _noise, _discretisation, _coarse, _mixing, _measured):
        fault = check(found)
        if fault is not None:
            return False, f"Not calibrated: {fault}"
    sd, mean = found.inflation, found.shift
    return True, (
        f"Calibrated: the worst standard deviation is measured {100 * abs(sd[1]):.1f} % off (Monte"
        f" Carlo error {100 * sd[2]:.1f} %), the worst mean {abs(mean[1]):.2f} standard deviations"
        f" ({mean[2]:.2f}); smallest effective sample size {found.ess[1]:,.0f}."
    )


def _divergence(found: Found) -> str | None:
    if found.diverged == 0:
        return None
    return (
        f"{found.diverged:.1%} of iterations diverged. Use step_size={found.step_size / 4:.2g}"
        " (a quarter), or step_size=None."
    )


def _noise(found: Found) -> str | None:
    site, error = found.noise
    if not error > SD_ERROR:
        return None
    variance = (1 + error) ** 2 - 1
    factor = variance / SD_ERROR  # to half of what is allowed
    batch = ", ".join(
        f"{min(plate.size, round(plate.subsample_size * factor)):,} of {plate.size:,}"
        for plate in found.batches.values()
    )
    better = "gradient=FixedPoint(), " if found.is_plain else ""
    return (
        f"gradient noise inflates the standard deviation of {site!r} by"
        f" {_percent(error)}. Use {better}step_size={found.step_size / factor:.2g},"
        f' noise_correction="dense", or minibatches of {batch}.'
    )


def _discretisation(found: Found) -> str | None:
    site, error = found.discretisation
    if not abs(error) > SD_ERROR:
        return None
    factor = 4.0 if not np.isfinite(error) else max(abs(error) / (SD_ERROR / 2), 2.0)
    return (
        f"the step size changes the standard deviation of {site!r} by {_percent(error)}. Use"
        f" step_size={found.step_size / factor:.2g}, a preconditioner, or step_size=None."
    )


def _coarse(found: Found) -> str | None:
    if not found.step_size > COARSE * found.largest_step_size:
        return None
    return (
        f"step size {found.step_size:.2g} is {found.step_size / found.largest_step_size:.1f} times"
        " the largest that the measured curvature allows, where errors beyond a Gaussian are not"
        f" bounded. Use step_size={found.largest_step_size:.2g}, a preconditioner, or"
        " step_size=None."
    )


def _mixing(found: Found) -> str | None:
    site, r_hat = found.r_hat
    few = found.ess[1] < EFFECTIVE_DRAWS
    if not (few or r_hat > LARGEST_R_HAT or not np.isfinite(r_hat) or np.isnan(found.ess[1])):
        return None
    where = found.ess[0] if few else site
    longer = max(2.0, 1.5 * EFFECTIVE_DRAWS / max(found.ess[1], 1.0))
    return (
        f"the chains are too short: smallest effective sample size {found.ess[1]:,.0f} (wanted"
        f" {EFFECTIVE_DRAWS}), largest R-hat {r_hat:.3f} (wanted {LARGEST_R_HAT}), at {where!r}."
        f" Take {longer:,.0f} times as many transitions (num_steps or num_samples)."
    )


def _measured(found: Found) -> str | None:
    site, error, mcse = found.inflation
    if not abs(error) <= SD_ERROR + STANDARD_ERRORS * mcse:
        what = "cannot be checked" if np.isnan(error) else f"is {_percent(error)} off"
        return (
            f"the standard deviation of {site!r} {what}, by Stein's identity."
            f" Use step_size={found.step_size / 3:.2g} or step_size=None, and a longer warm-up."
        )
    site, error, mcse = found.shift
    if found.is_known and not abs(error) <= MEAN_ERROR + STANDARD_ERRORS * mcse:
        return (
            f"the mean of {site!r} is {error:+.2f} standard deviations off, by Stein's identity:"
            " the chain has not arrived. Use a longer warm-up, or init_params nearer to the"
            " posterior."
        )
    return None


def _percent(error: float) -> str:
    return "without bound" if not np.isfinite(error) else f"{100 * error:.0f} %"
