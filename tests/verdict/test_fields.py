"""The fields by which a covariance is measured where there are many coordinates."""

import numpy as np

from numpyro_sgmcmc.subspace import Group
from numpyro_sgmcmc.verdict.fields import crossed, dense_fields, wide_fields


def test_draws_of_few_directions_give_finite_fields():
    """Chains that hardly move leave a singular matrix, whose eigenvalues are rounded below 0."""
    rng = np.random.default_rng(0)
    groups = (*[Group(1, 1)] * 6, *[Group(2_000, 1)] * 2)
    few = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 4_006))
    few[:, 6:] = few[:, 6:7] + few[:, 7:8] * (np.arange(4_000) < 2_000)  # Effects move together.
    draws = few.astype(np.float32)
    draws -= draws.mean(0)
    scale = draws.std(0)
    fields = wide_fields(groups, draws, scale, np.full(200, 1 / 200))
    assert np.all(np.isfinite(fields.wide.matrix))


def test_noise_of_gradients_does_not_bias_crossed_fields():
    """Gradients x + e of a standard Gaussian: d s^2 / (2 (n - d)) = 0.036 for e's variance s^2.

    The slope of the derivative on the coordinate is the inverse of the variance that is asked for,
    which is 1. Its mean over coordinates and data sets is within 4 standard errors of it (6e-5 by
    chance). With the regression's inverse it is 1 / (1 + d s^2 / (2 (n - d))), with errors
    of the size of that term's square, and `bias` is the term.
    """
    rng = np.random.default_rng(1)
    count, dimension, spread = 600, 100, 0.6
    weights, nothing = np.full(count, 1 / count), np.zeros((dimension, 0))
    asked, without, found_bias = [], [], []
    for _ in range(20):
        draws = rng.normal(size=(count, dimension))
        gradients = draws + spread * rng.normal(size=draws.shape)
        draws -= draws.mean(0)
        fields = dense_fields(draws.T @ draws / count, draws, gradients, weights)
        found_bias.append(fields.bias)
        along = crossed(draws, gradients, nothing, weights), fields.along(gradients, nothing)
        for found, one in zip((asked, without), along, strict=True):
            found.append(np.mean((draws * one).mean(0) / (draws**2).mean(0)))
    asked, without = np.array(asked), np.array(without)
    assert abs(asked.mean() - 1) < 4 * asked.std(ddof=1) / len(asked) ** 0.5
    expected, error = np.mean(found_bias), without.std(ddof=1) / len(without) ** 0.5
    assert abs(without.mean() - 1 / (1 + expected)) < 4 * error + expected**2
    term = dimension * spread**2 / (2 * (count - dimension))
    np.testing.assert_allclose(expected, term, rtol=0.02)  # Each has some 50,000 residuals.


def test_exact_gradients_leave_no_bias():
    rng = np.random.default_rng(2)
    draws = rng.normal(size=(600, 100))
    draws -= draws.mean(0)
    fields = dense_fields(draws.T @ draws / 600, draws, 2 * draws, np.full(600, 1 / 600))
    assert fields.bias < 1e-20
    np.testing.assert_allclose(np.diag(fields.covariance), 0.5)
