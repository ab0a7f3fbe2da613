"""Coordinates with heavy tails on the scale on which their draws are Gaussian.

A standard deviation says little of a distribution with heavy tails, and some hundred draws in the
tails decide its Monte Carlo error: with kurtosis 10 it takes 4.5 times as many draws as of a
Gaussian. What is judged of such a coordinate x are the mean and standard deviation of z = T(x), an
increasing function under which the draws are nearly N(0, 1). A standard deviation of z that is 5 %
too large changes the probabilities of x's intervals as much as it would those of a Gaussian.

Let s be the derivative of U / T along a field w that moves x at unit speed, less the divergence of
w. The field w / T'(x) moves z at unit speed, and its derivative less its divergence is

    s_z = s / T'(x) + T''(x) / T'(x)^2.

T is a cubic spline that takes the draws' quantiles at equally spaced scores to these scores. Its
slope at a knot is the central difference, with which it increases everywhere (Fritsch and Butland
1984, SIAM J. Sci. Stat. Comput. 5) and has the continuous derivative that Stein's identity needs.
Beyond the outermost knots z^2 is linear in x, as it is for exponential tails.
"""

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from numpyro_sgmcmc.verdict.thresholds import HEAVY

LEVELS = np.linspace(-2.0, 2.0, 9)
"""Scores of the knots. Of 400 effective draws 9 are beyond either of the outermost ones."""

PROBABILITIES = np.array([NormalDist().cdf(level) for level in LEVELS])


class Scores(NamedTuple):
    """Of some draws of a coordinate, each (n,).

    Attributes:
        values: z = T(x).
        first: T'(x).
        second: T''(x).
    """

    values: np.ndarray
    first: np.ndarray
    second: np.ndarray


def is_heavy(squares: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return whether the kurtosis of each column exceeds `HEAVY`, (k,).

    Args:
        squares: of draws about their mean, in units in which their mean is 1, (n, k).
        weights: of the draws, (n,), with sum 1.
    """
    return weights @ (squares * squares) > HEAVY


def knots_of(draws: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the draws' quantiles at `PROBABILITIES`, (9,); NaN where two of them are equal.

    Args:
        draws: of a coordinate, (n,).
        weights: theirs, (n,), with sum 1.
    """
    order = np.argsort(draws)
    own = weights[order]
    found = np.interp(PROBABILITIES, np.cumsum(own) - own / 2, draws[order])
    return found if np.all(np.diff(found) > 0) else np.full_like(found, np.nan)


def score_values(knots: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """Return the normal scores of draws, (n,)."""
    return _joined(_spline(knots), knots, draws)[0]


def scores(knots: np.ndarray, draws: np.ndarray) -> Scores:
    """Return the normal scores of draws, (n,), with their derivatives."""
    spline = _spline(knots)
    values, growth = _joined(spline, knots, draws)
    inside = np.clip(draws, knots[0], knots[-1])
    slope = spline.derivative()
    within = growth == 0
    safe = np.where(within, 1.0, values)
    first = np.where(within, slope(inside), growth / safe)
    second = np.where(within, slope.derivative()(inside), -(growth**2) / safe**3)
    return Scores(values, first, second)


def _joined(
    spline: CubicHermiteSpline, knots: np.ndarray, draws: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of draws, and half the derivative of their squares beyond the knots."""
    values, growth = spline(draws), np.zeros_like(draws)
    slopes = _slopes(knots)
    for beyond, end in (
        (np.flatnonzero(draws < knots[0]), 0),
        (np.flatnonzero(draws > knots[-1]), -1),
    ):
        level = LEVELS[end]
        growth[beyond] = level * slopes[end]
        square = level**2 + 2 * growth[beyond] * (draws[beyond] - knots[end])
        values[beyond] = np.copysign(np.sqrt(square), level)
    return values, growth


def _spline(knots: np.ndarray) -> CubicHermiteSpline:
    return CubicHermiteSpline(knots, LEVELS, _slopes(knots))


def _slopes(knots: np.ndarray) -> np.ndarray:
    """Return T' at the knots; beyond the last secants it goes on changing as between them."""
    secants = np.diff(LEVELS) / np.diff(knots)
    ends = secants[[0, -1]]
    growth = np.minimum(np.sqrt(ends / secants[[1, -2]]), 3.0)  # above 3 a cubic would turn back
    central = (LEVELS[2:] - LEVELS[:-2]) / (knots[2:] - knots[:-2])
    return np.concatenate([ends[:1] * growth[0], central, ends[1:] * growth[1]])


def along_scores(found: Scores, slopes: np.ndarray) -> np.ndarray:
    """Return the derivatives s_z of draws from their derivatives s, both (n,)."""
    return slopes / found.first + found.second / found.first**2
