"""Moments by Stein's identity against exact ones, for draws of another distribution than asked."""

import numpy as np
import pytest

from numpyro_sgmcmc.verdict.control_variates import asked_moments, ratio_moments

COUNT = 20_000
WEIGHTS = np.full(COUNT, 1 / COUNT)


def standardised(z, slopes):
    """The draws, their derivatives in those units, and how to come back."""
    mean, scale = z.mean(0), z.std(0)
    return (z - mean) / scale, slopes * scale, mean, scale


def moments(asked, mean, scale):
    return mean + scale * asked.mean, scale**2 * (asked.square - asked.mean**2)


def test_a_gaussian_is_exact_for_any_draws():
    z = np.random.default_rng(0).gamma(2.0, 3.0, (COUNT, 2))
    x, s, *back = standardised(z, (z - np.array([1.0, -2.0])) / np.array([4.0, 0.25]))
    for asked in (asked_moments(x, s, WEIGHTS), ratio_moments(x, s, WEIGHTS)):
        mean, variance = moments(asked, *back)
        np.testing.assert_allclose(mean, [1.0, -2.0], rtol=1e-6)
        np.testing.assert_allclose(variance, [4.0, 0.25], rtol=1e-6)


def test_polynomials_solve_a_heavy_tail():
    """Student's t with 5 degrees of freedom: variance 5/3, from draws that are 20 % too wide."""
    z = 1.2 * np.random.default_rng(0).standard_t(5, (COUNT, 1))
    x, s, *back = standardised(z, 6 * z / (5 + z**2))
    mean, variance = moments(asked_moments(x, s, WEIGHTS), *back)
    np.testing.assert_allclose(mean, 0, atol=1e-6)
    np.testing.assert_allclose(variance, 5 / 3, rtol=1e-6)


def test_a_derivative_that_depends_on_more_is_not_taken_for_less_error():
    """Noise as large as the signal halves a regression on it; the ratio keeps the whole error.

    Draws with 1.2 times the sd: a variance error of 0.44. Of 20,000 draws the ratio's standard
    error is 0.01 times 1.44; 5 of them, false-failure rate 6e-7.
    """
    rng = np.random.default_rng(0)
    z = 1.2 * rng.normal(size=(COUNT, 1))
    x, s, *back = standardised(z, z + rng.normal(size=z.shape))
    polynomial, ratio = asked_moments(x, s, WEIGHTS), ratio_moments(x, s, WEIGHTS)
    assert polynomial.explained < 0.9
    assert z.var() / moments(polynomial, *back)[1] - 1 < 0.35
    assert z.var() / moments(ratio, *back)[1] - 1 == pytest.approx(z.var() - 1, abs=0.07)


def test_residuals_give_standard_errors():
    """400 replicates know a standard deviation to 1 / sqrt(800) = 3.5 %; allowed are 5 of them."""
    rng = np.random.default_rng(0)
    shape = (2_000, 400)
    z = rng.normal(size=shape)
    slopes = z + 0.7 * rng.normal(size=shape)
    weights = np.full(len(z), 1 / len(z))
    for function in (asked_moments, ratio_moments):
        asked = function(z, slopes, weights)
        for found, residual in (
            (asked.mean, asked.mean_residual),
            (asked.square - asked.mean**2, asked.square_residual),
        ):
            claimed = np.sqrt(np.mean(residual.var(0)) / len(z))
            assert claimed == pytest.approx(found.std(), rel=0.18)
