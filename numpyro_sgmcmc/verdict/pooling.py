"""Errors of the entries of a long site, such as the effects of a plate, judged together.

A kernel treats such entries alike, so their errors are a sample: N(mu, tau^2), with mu and tau^2
measured from all of them. Each entry's own measurement, with Monte Carlo error, is then combined
with this distribution (empirical Bayes, Efron and Morris 1973). Of thousands of entries each alone
would need far more draws to be shown to be right than their posterior means need.

Entries that the distribution does not explain stand for themselves.
"""

from typing import NamedTuple

import numpy as np

from numpyro_sgmcmc.verdict.batches import Batches
from numpyro_sgmcmc.verdict.errors import Errors
from numpyro_sgmcmc.verdict.thresholds import ALONE, FALSE_ALARMS, POOLED


class Judged(NamedTuple):
    """Errors by coordinate.

    Attributes:
        alone: each by its own draws.
        together: those of long sites combined with their distribution.
    """

    alone: Errors
    together: Errors


def judged(errors: Errors, batches: Batches, sites: np.ndarray, tolerance: float) -> Judged:
    """Return errors alone and together; the arguments are those of `pooled`."""
    return Judged(errors, pooled(errors, batches, sites, tolerance))


def pooled(errors: Errors, batches: Batches, sites: np.ndarray, tolerance: float) -> Errors:
    """Return the kernel's own errors, those of long sites combined with their distribution.

    An entry keeps its own error where it lies so far from the others that chance explains it with a
    probability below FALSE_ALARMS over all entries. All do where that would not show an error of
    ALONE tolerances.

    Args:
        errors: by coordinate, (d,).
        batches: behind their standard errors.
        sites: a label of each coordinate's site, (d,).
        tolerance: of `errors.value`.
    """
    value, uncertainty, monte_carlo = (
        np.array(x) for x in (errors.value, errors.uncertainty, errors.monte_carlo)
    )
    for site in np.unique(sites):
        at = np.flatnonzero(sites == site)
        if len(at) < POOLED or not np.all(np.isfinite(errors.series[:, at])):
            continue
        own, deviation = errors.value[at], errors.monte_carlo[at]
        measured = own + errors.series[:, at]
        common = measured.mean(1)
        centre = batches.mass @ common
        square, square_error = mean_square(measured - common[:, None], batches.mass)
        variance = max(square + batches.beyond * square_error, 0.0)
        spread = np.sqrt(variance + deviation**2)
        share = np.divide(variance, spread**2, out=np.zeros_like(spread), where=spread > 0)
        centre_error = (1 - share) * batches.standard_error(common[:, None])
        far = batches.standard_errors_for(FALSE_ALARMS / len(at)) * spread
        seen = np.median(far) <= ALONE * tolerance
        typical = (np.abs(own - centre) <= far) & seen
        left = np.sqrt(variance * (1 - share) + centre_error**2)
        value[at] = np.where(typical, centre + share * (own - centre), own)
        monte_carlo[at] = np.where(typical, left, deviation)
        part = np.minimum(uncertainty[at] / np.where(deviation > 0, deviation, 1.0), 1.0)
        uncertainty[at] = np.where(typical, left * part, uncertainty[at])
    return Errors(value, uncertainty, monte_carlo, errors.series)


def mean_square(series: np.ndarray, mass: np.ndarray) -> tuple[float, float]:
    """Return an unbiased mean square of expectations, and its standard error.

    The product of two batches' means has the product of expectations as its own, because batches
    are independent. Errors that entries have in common are allowed for: the standard error is the
    jackknife's over batches.

    Args:
        series: batches' means of n quantities, (batches, n).
        mass: each batch's share of the weight, (batches,).
    """
    products = series @ series.T / series.shape[1]
    own = mass**2 * np.diag(products)
    across = mass * (products @ mass)
    total, norm = across.sum() - own.sum(), 1 - np.sum(mass**2)
    without = (total - 2 * across + 2 * own) / ((1 - mass) ** 2 - np.sum(mass**2) + mass**2)
    count = len(mass)
    error = np.sqrt((count - 1) / count * np.sum((without - without.mean()) ** 2))
    return float(total / norm), float(error)
