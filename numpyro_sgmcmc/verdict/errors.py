"""Errors of a run's reported means and variances, by coordinate."""

from typing import NamedTuple

import numpy as np


class Errors(NamedTuple):
    """Errors by coordinate, (d,); NaN where not known.

    Attributes:
        value: of the estimate that the run reports, its Monte Carlo error included: of a variance
            relative to the posterior's, or of a mean in the posterior's standard deviations.
        uncertainty: standard error of that measurement.
        monte_carlo: standard error of `value` as a measurement of the kernel's bias, so with the
            Monte Carlo error of the reported estimate.
        series: by how much `value` as such a measurement differs in each batch, (batches, d).
    """

    value: np.ndarray
    uncertainty: np.ndarray
    monte_carlo: np.ndarray
    series: np.ndarray


def unknown(dimension: int) -> Errors:
    """Return errors of which nothing is known."""
    nothing = np.full(dimension, np.nan)
    return Errors(nothing, nothing, nothing, nothing[None])


def as_sd(variance_error: np.ndarray) -> np.ndarray:
    """Return the relative error of a standard deviation; -1 where the variance is negative."""
    return np.sqrt(np.maximum(1 + variance_error, 0.0)) - 1
