"""Bounds of measured errors, and how many draws would make them tight."""

from bisect import bisect_left
from collections.abc import Callable
from math import erf, prod, sqrt
from statistics import NormalDist

import numpy as np

from numpyro_sgmcmc.verdict.assessment import Worst
from numpyro_sgmcmc.verdict.batches import Batches
from numpyro_sgmcmc.verdict.errors import Errors, as_sd
from numpyro_sgmcmc.verdict.pooling import Judged
from numpyro_sgmcmc.verdict.thresholds import (
    FALSE_ALARMS,
    MEAN_TOLERANCE,
    SD_TOLERANCE,
    STANDARD_ERRORS,
    UNSEEN_BIAS,
)

ENOUGH_BY_CHANCE = 0.8
"""Probability with which the number of draws that is advised decides. The next verdict asks for
more where it does not; a probability of 0.95 would cost all others half as many draws again."""

MOST_BIAS = 0.5
"""Largest bias, as a share of the tolerance, that advice on the number of draws counts. With four
times the draws that chance alone asks for, a larger one is known well enough to say how many more.
Standard errors of skewed distributions are too small, so that it may also turn out to be chance."""

FACTORS = np.geomspace(1.0, 1e6, 600)
"""Factors that are tried, 2 % apart. A run that would need more needs another kernel."""


def as_given(error: np.ndarray) -> np.ndarray:
    """Return a mean's error as it is."""
    return error


def worst_pair(
    judged: Judged,
    batches: Batches,
    name_of: Callable[[int], str],
    scaled: Callable[[np.ndarray], np.ndarray],
) -> tuple[Worst, Worst]:
    """Return the coordinates with the largest lower and the largest upper bound of their error.

    Args:
        judged: errors by coordinate. Lower bounds are of those alone, upper ones of those together.
        batches: behind their standard errors.
        name_of: from a coordinate to its site.
        scaled: from `errors` to what is bounded, monotone.
    """
    errors, together = judged
    tests = 2 * len(errors.value)  # means and standard deviations
    away = batches.standard_errors_for(FALSE_ALARMS / tests) * errors.monte_carlo
    ends = scaled(errors.value - away), scaled(errors.value + away)
    lower = np.where(ends[0] * ends[1] > 0, np.minimum(*np.abs(ends)), 0.0)
    unseen = batches.standard_errors_for(2 * UNSEEN_BIAS)
    of_estimate = _largest(together.value, together.uncertainty, batches.beyond, scaled)
    of_kernel = _largest(together.value, together.monte_carlo, unseen, scaled)
    upper = np.maximum(of_estimate, of_kernel)
    deciding = np.where(of_estimate > of_kernel, together.uncertainty, together.monte_carlo)
    found = []
    for bound, value, deviation in (
        (lower, errors.value, errors.monte_carlo),
        (upper, together.value, deciding),
    ):
        at = int(np.argmax(np.where(np.isnan(bound), np.inf, bound)))
        error = scaled(value[at])
        half = float(scaled(value[at] + deviation[at]) - error)
        found.append(Worst(name_of(at), float(error), float(lower[at]), float(upper[at]), half))
    return found[0], found[1]


def largest_bias(errors: Errors, batches: Batches) -> float:
    """Return a bound of the kernel's own relative error of every standard deviation."""
    return float(np.max(_largest(errors.value, errors.monte_carlo, batches.beyond, as_sd)))


def factor_needed(
    variance: Errors,
    mean: Errors,
    predicted: np.ndarray,
    batches: Batches,
    growth: Callable[[float], float] = float,
) -> float:
    """Return how many times as many draws would bound all errors below the tolerances.

    Standard errors fall with the root of the number of draws, and what gradients leave uncertain
    with the root of the number of draws at which they are evaluated. The kernel's own bias stays:
    what theory predicts or what is measured beyond chance, at most `MOST_BIAS` of the tolerance.
    Errors of different coordinates are taken to be independent.

    Args:
        variance: relative errors, (d,).
        mean: in standard deviations, (d,).
        predicted: relative errors of standard deviations, (d,), NaN where not known.
        batches: behind the standard errors.
        growth: how many times as many gradients are evaluated with so many times as many draws.

    Returns:
        The factor, at least 1; infinite where no number of draws would do, NaN where no error is
        known.
    """
    by_theory = np.where(np.isnan(predicted), 0.0, np.abs(predicted)) / SD_TOLERANCE
    by_chance = batches.standard_errors_for(FALSE_ALARMS / (2 * len(predicted)))
    of_sd = np.maximum(by_theory, _established(variance, by_chance, SD_TOLERANCE, as_sd))
    of_mean = _established(mean, by_chance, MEAN_TOLERANCE, as_given)
    room_sd = 2 * SD_TOLERANCE * (1 - np.minimum(of_sd, MOST_BIAS))
    room_mean = MEAN_TOLERANCE * (1 - np.minimum(of_mean, MOST_BIAS))
    least = NormalDist().inv_cdf(1 - UNSEEN_BIAS)
    own = np.concatenate([variance.uncertainty / room_sd, mean.uncertainty / room_mean])
    total = np.concatenate([variance.monte_carlo / room_sd, mean.monte_carlo / room_mean])
    known = np.isfinite(own) & np.isfinite(total)
    if not known.any():
        return float("nan")
    own, total = own[known], total[known]
    by_gradients = np.minimum(own, total)
    by_draws = np.sqrt(total**2 - by_gradients**2)

    def is_enough(factor: float) -> bool:
        points = growth(factor)
        error = np.hypot(by_gradients / np.sqrt(points), by_draws / np.sqrt(factor))
        bound = np.maximum(least * error, STANDARD_ERRORS * own / np.sqrt(points))
        return _chance_within(error, 1 - bound) >= ENOUGH_BY_CHANCE

    at = bisect_left(FACTORS, True, key=is_enough)
    return float(FACTORS[at]) if at < len(FACTORS) else np.inf


def _established(
    errors: Errors,
    by_chance: float,
    tolerance: float,
    scaled: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the share of the tolerance that errors take up which chance does not explain.

    Args:
        errors: by coordinate, (d,).
        by_chance: standard errors that chance explains.
        tolerance: of `scaled` errors.
        scaled: as for `worst_pair`.
    """
    is_bias = np.abs(errors.value) > by_chance * errors.monte_carlo
    return np.where(is_bias, np.abs(scaled(errors.value)) / tolerance, 0.0)


def _chance_within(error: np.ndarray, room: np.ndarray) -> float:
    """Return the probability that no normal number of these standard errors exceeds its room."""
    if not np.all(room > 0):
        return 0.0
    ratios = room[error > 0] / error[error > 0] / sqrt(2)
    return prod(erf(ratio) for ratio in ratios.tolist())


def _largest(
    value: np.ndarray,
    standard_error: np.ndarray,
    times: float,
    scaled: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    away = times * standard_error
    return np.maximum(np.abs(scaled(value - away)), np.abs(scaled(value + away)))
