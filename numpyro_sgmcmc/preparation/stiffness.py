"""Weights between the centred and the non-centred form at which effects are least stiff."""

from functools import partial
from typing import NamedTuple

import numpy as np

from numpyro_sgmcmc.preparation.thresholds import GRID_OF_WEIGHTS, HIGHEST_SCALE, LOWEST_SCALE


class LeastStiff(NamedTuple):
    """Weights of effects, and how stiff the effects are with them.

    Attributes:
        weights: c of each effect.
        stiffness: the largest curvature of each, in units of its inverse variance.
    """

    weights: np.ndarray
    stiffness: np.ndarray


def least_stiff(
    log_scales: np.ndarray, information: np.ndarray, slack: float | np.ndarray = 1.0
) -> LeastStiff:
    """Return the weights c of least stiffness.

    Along an effect with the scale s and the information i of its data, the curvature is

        K(s) = s^(-2 c) + i s^(2 (1 - c)),

    the prior's part and the data's part. The largest curvature limits the step size, and the mean
    of 1 / K is the effect's variance, so that max K(s) E[1 / K(s)] is the number of steps that its
    relaxation takes. K is convex in log s, and so is largest at an end of the range of s. The draws
    are those of a Gaussian approximation, which knows mean and standard deviation of log s but not
    its tails. Where the data allow s = 0, the tail towards 0 is that of a half-normal s: the
    range begins at its quantile of probability 1e-4, and ends at the Gaussian's of 0.99.

    Args:
        log_scales: log s over the posterior, (draws, ...).
        information: i of each effect, (...).
        slack: the largest weight is taken whose stiffness is at most this times the least.
    """
    mean, spread = np.mean(log_scales, axis=0), np.std(log_scales, axis=0)
    low, high = mean + LOWEST_SCALE * spread, mean + HIGHEST_SCALE * spread

    def stiffness_of(weight: float) -> np.ndarray:
        curvature = partial(_curvature, weight, information)
        largest = np.maximum(curvature(low), curvature(high))
        return largest * np.mean(1 / curvature(log_scales), axis=0)

    grid = np.linspace(1.0, 0.0, GRID_OF_WEIGHTS)
    least = np.full(information.shape, np.inf)
    for weight in grid:
        least = np.fmin(stiffness_of(weight), least)
    weights, stiffness = np.ones(information.shape), np.full(information.shape, np.inf)
    for weight in grid:
        found = stiffness_of(weight)
        taken = np.isinf(stiffness) & (found <= slack * least)
        weights = np.where(taken, weight, weights)
        stiffness = np.where(taken, found, stiffness)
    return LeastStiff(weights, stiffness)


def _curvature(weight: float, information: np.ndarray, log_scale: np.ndarray) -> np.ndarray:
    prior = np.exp(-2 * weight * log_scale)
    return prior + information * np.exp(2 * (1 - weight) * log_scale)
