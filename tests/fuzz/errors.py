"""Errors of what a run reports, against the exact posterior, with their Monte Carlo errors."""

from typing import Any, NamedTuple

import arviz as az
import numpy as np

SD_TOLERANCE, MEAN_TOLERANCE = 0.05, 0.1
"""What the verdict states: a relative error of standard deviations, and one of means in sd."""

STANDARD_ERRORS = 4.0
"""One comparison of a run at the very tolerance then fails with probability 6e-5, and 300 runs of 6
coordinates, of which few are there, with 1 % or less."""


class Errors(NamedTuple):
    """Errors of each coordinate, (d,), and their standard errors.

    Attributes:
        mean: in exact standard deviations.
        mean_error: Monte Carlo standard error of it.
        sd: relative.
        sd_error: Monte Carlo standard error of it.
    """

    mean: np.ndarray
    mean_error: np.ndarray
    sd: np.ndarray
    sd_error: np.ndarray

    @property
    def excess(self) -> float:
        """The largest error beyond tolerance and standard errors; positive for a wrong run."""
        mean = np.abs(self.mean) - MEAN_TOLERANCE - STANDARD_ERRORS * self.mean_error
        sd = np.abs(self.sd) - SD_TOLERANCE - STANDARD_ERRORS * self.sd_error
        return float(np.max(np.nan_to_num(np.concatenate([mean, sd]), nan=np.inf)))

    def __str__(self) -> str:
        """Return the worst mean and the worst standard deviation."""
        i, j = np.argmax(np.abs(self.mean)), np.argmax(np.abs(self.sd))
        return (
            f"mean {self.mean[i]:+.3f} sd (MCSE {self.mean_error[i]:.3f}) at {i},"
            f" sd {100 * self.sd[j]:+.1f} % (MCSE {100 * self.sd_error[j]:.1f} %) at {j}"
        )


def errors_of(
    walkers: dict[str, np.ndarray],
    coefficients: dict[str, float],
    weights: np.ndarray,
    problem: Any,
    together: bool,
) -> Errors:
    """Return the errors of what a run reports.

    Args:
        walkers: draws (chains, draws, d) of each walker.
        coefficients: what each counts in an estimate.
        weights: of the draws, (chains, draws).
        problem: with exact means and standard deviations.
        together: whether chains depend on each other.
    """

    def combined(fn: Any) -> np.ndarray:
        return sum(factor * fn(walkers[name]) for name, factor in coefficients.items())

    with np.errstate(all="ignore"):  # unstable runs leave the numbers that can be squared
        return _errors(combined, weights / weights.mean(), problem, together)


def _errors(combined: Any, share: np.ndarray, problem: Any, together: bool) -> Errors:
    first = combined(lambda z: z) * share[..., None]
    mean = first.mean((0, 1))
    second = combined(lambda z: (z - mean) ** 2) * share[..., None]
    variance = second.mean((0, 1))
    sd = np.sqrt(np.maximum(variance, 0.0))
    # Residuals of the ratio estimators: weighted deviations from what is estimated.
    first_error = standard_error(first - mean * share[..., None], together)
    second_error = standard_error(second - variance * share[..., None], together)
    sd_error = second_error / (2 * sd * problem.sd)
    return Errors(
        (mean - problem.mean) / problem.sd,
        first_error / problem.sd,
        sd / problem.sd - 1,
        np.where(sd > 0, sd_error, 0.0),
    )


def standard_error(values: np.ndarray, together: bool) -> np.ndarray:
    """Return the standard error of the mean of (chains, draws, d), by effective sample sizes."""
    if together:
        values = values.mean(0, keepdims=True)
    found = []
    for column in np.moveaxis(values, -1, 0):
        ess = float(np.asarray(az.ess(column, method="mean")))
        found.append(column.std() / np.sqrt(ess))
    return np.asarray(found)
