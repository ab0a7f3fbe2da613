"""The number of draws that is advised, by hand."""

from statistics import NormalDist

import numpy as np
import pytest

from numpyro_sgmcmc.verdict.batches import batches_of
from numpyro_sgmcmc.verdict.bounds import MOST_BIAS, factor_needed, worst_pair
from numpyro_sgmcmc.verdict.budget import independent_points
from numpyro_sgmcmc.verdict.errors import Errors, as_sd
from numpyro_sgmcmc.verdict.pooling import Judged

NOTHING = np.zeros(1)
FINE = Errors(NOTHING, NOTHING, NOTHING, NOTHING)
BATCHES = batches_of(np.ones((4, 1_000)), is_together=False)
CHANCE = NormalDist().inv_cdf(0.9)
"""What a coordinate exceeds on one of two sides with probability 0.2: 1.28."""


def factor(uncertainty, total, growth=np.inf):
    variance = Errors(NOTHING, np.array([uncertainty]), np.array([total]), NOTHING)
    return factor_needed(variance, FINE, NOTHING, BATCHES, lambda times: min(times, growth))


def test_errors_of_draws_fall_with_their_root():
    """Half of a variance's error is the sd's: (1.28 + 1.64) 0.1 / 2 is 2.9 times 5 %."""
    expected = ((CHANCE + NormalDist().inv_cdf(0.95)) * 0.1 / 2 / 0.05) ** 2
    assert factor(0.0, 0.1) == pytest.approx(expected, rel=0.025)


def test_errors_of_gradients_fall_while_there_are_more_of_them():
    expected = ((CHANCE + 3) * 0.1 / 2 / 0.05) ** 2
    assert factor(0.1, 0.1) == pytest.approx(expected, rel=0.025)
    assert factor(0.1, 0.1, growth=1.1 * expected) == factor(0.1, 0.1)
    assert factor(0.1, 0.1, growth=0.9 * expected) == np.inf


def test_what_gradients_leave_uncertain_asks_for_more_draws_than_without():
    few = factor(0.015, 0.05, growth=1.0)
    assert np.isfinite(few)
    assert few > 1.1 * factor(0.015, 0.05)


def test_only_uncertain_coordinates_count():
    """A thousand coordinates that are known ask for no more draws, a thousand uncertain ones do."""
    nothing = np.zeros(1_000)
    one = Errors(nothing, nothing, np.append(0.1, nothing[1:]), nothing)
    all_of_them = one._replace(monte_carlo=nothing + 0.1)
    fine = Errors(nothing, nothing, nothing, nothing)
    found = [factor_needed(errors, fine, nothing, BATCHES) for errors in (one, all_of_them)]
    assert found[0] == factor(0.0, 0.1)
    # No one of them exceeds this with probability 0.8.
    chance = NormalDist().inv_cdf(0.5 + 0.5 * 0.8 ** (1 / 1_000))
    expected = ((chance + NormalDist().inv_cdf(0.95)) * 0.1 / 2 / 0.05) ** 2
    assert found[1] == pytest.approx(expected, rel=0.025)


def of_mean(value, deviation):
    mean = Errors(np.array([value]), NOTHING, np.array([deviation]), NOTHING)
    return factor_needed(FINE, mean, NOTHING, BATCHES)


def test_an_error_that_chance_does_not_explain_stays():
    """Of a tolerance of 0.1 it takes up half at most; the rest is left to chance.

    Student's t with 31 degrees of freedom exceeds 3.2 standard errors on either side with
    probability 0.003, and 3.4 with 0.002; two tests share one of 0.01.
    """
    quantiles = CHANCE + NormalDist().inv_cdf(0.95)
    for value in (0.09, 0.2):
        expected = (quantiles * value / 3.4 / (0.1 * (1 - MOST_BIAS))) ** 2
        assert of_mean(value, value / 3.4) == pytest.approx(expected, rel=0.025)
        assert of_mean(-value, value / 3.4) == of_mean(value, value / 3.4)
    by_chance = (quantiles * 0.2 / 2.8 / 0.1) ** 2
    assert of_mean(0.2, 0.2 / 2.8) == pytest.approx(by_chance, rel=0.025)


@pytest.mark.parametrize(
    ("uncertainty", "monte_carlo", "times"),
    [(0.1, 0.05, BATCHES.beyond), (0.01, 0.1, BATCHES.standard_errors_for(0.1))],
    ids=["estimate", "kernel"],
)
def test_the_standard_error_is_the_one_that_the_bound_comes_from(uncertainty, monte_carlo, times):
    """A reader who adds so many standard errors to the error finds the bound."""
    errors = Errors(NOTHING, np.array([uncertainty]), np.array([monte_carlo]), NOTHING)
    _, worst = worst_pair(Judged(errors, errors), BATCHES, str, as_sd)
    largest = max(uncertainty, monte_carlo)
    assert worst.standard_error == pytest.approx(as_sd(largest))
    assert worst.upper == pytest.approx(-as_sd(-times * largest))


def test_points_further_apart_tell_more():
    """The variance of the mean of every third value of an autoregression, by its covariances."""
    r, points, gap = 0.6, 200, 3
    lags = np.abs(np.subtract.outer(np.arange(points), np.arange(points)))
    for apart in (1, gap):
        expected = points**2 / np.sum(r ** (apart * lags))
        found = independent_points(points, apart * points, (1 + r) / (1 - r))
        # Both ends of the series count as if it went on: 1 / points of the sum.
        assert found == pytest.approx(expected, rel=2 / points)
