"""Location and scale of a coordinate that is nearly Gaussian, with little weight on its tails.

Where a coordinate's tail is heavy, the derivatives at a few draws far out hold most of the noise of
its mean and variance by Stein's identity: of a part of a simplex near 0, 20 of 4,000 draws hold
three quarters. With e = exp(-z^2 / (2 R^2)), the functions

    f_0 = e    and    f_1 = z e

solve Stein's equation of N(0, 1) for h_j = z f_j - f_j': a location and a scale that hardly depend
on draws beyond 2 R. With s the derivative of U / T, as `normal_scores` has it, the posterior has

    E[h_j] = E[f_j (z - s)],

known the better the nearer s is to z. If z moves by a small d, or grows by the factor 1 + d, the
average of h_j grows by k_j d, with k_0 = E[h_0'] and k_1 = E[z h_1']. Errors of the averages are
divided by these, so that they are those of a mean and a standard deviation. For R -> infinity they
are these themselves.
"""

from typing import NamedTuple

import numpy as np

from numpyro_sgmcmc.verdict.control_variates import Asked

REACH = 1.5
"""R. Of what a larger scale adds to the average of h_1, draws within 1.5 standard deviations
contribute 85 %, and those within 2 all of it. To a variance they contribute 48 and 74 %."""

SHARPER = 1 + 1 / REACH**2


class Tapered(NamedTuple):
    """What is asked, and the functions whose averages are compared with it.

    Attributes:
        asked: the moments that gradients ask for.
        location: h_0 / k_0 at all draws, (draws, k).
        scale: 2 h_1 / k_1 there.
    """

    asked: Asked
    location: np.ndarray
    scale: np.ndarray


def tapered_moments(
    every: np.ndarray,
    weights: np.ndarray,
    some: np.ndarray,
    slopes: np.ndarray,
    own: np.ndarray,
) -> Tapered:
    """Return moments by tapered functions, in units in which all draws have mean 0 and variance 1.

    Args:
        every: all draws, (draws, k).
        weights: theirs, (draws,), with sum 1.
        some: draws with derivatives, (n, k).
        slopes: the derivatives, (n, k).
        own: weights of these draws, (n,), with sum 1.
    """
    square = every**2
    taper = np.exp(-square / (2 * REACH**2))
    location, scale = SHARPER * taper * every, taper * (SHARPER * square - 1)
    by_shift = weights @ (SHARPER * taper * (1 - square / REACH**2))
    by_growth = weights @ (taper * square * (2 * SHARPER + (1 - SHARPER * square) / REACH**2))
    location, scale = location / by_shift, 2 * scale / by_growth
    weight = np.exp(-(some**2) / (2 * REACH**2))
    first, second = weight / by_shift, 2 * weight * some / by_growth
    away = weights @ location - own @ (first * (some - slopes))
    wide = weights @ scale - own @ (second * (some - slopes))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(wide > -1, 1 / (1 + wide), np.nan)
        mean = -away * variance
        left = some - variance * slopes
        residuals = first * left, variance * second * left
    nothing = np.zeros_like(mean)
    asked = Asked(mean, variance + mean**2, *residuals, nothing, nothing)
    return Tapered(asked, location, scale)
