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
    """Gradients x + e of a standard Gaussian, with d s^2 / n = 0.375 for e's variance s^2.

    The slope of the derivative on the coordinate is the inverse of the variance that is asked for,
    which is 1. Its mean over coordinates and data sets is within 4 standard errors of it (6e-5 by
    chance). With the regression's inverse it is 1 / (1 + d s^2 / n) or less.
    """
    rng = np.random.default_rng(1)
    count, dimension, spread = 600, 100, 1.5
    weights, nothing = np.full(count, 1 / count), np.zeros((dimension, 0))
    asked, without = [], []
    for _ in range(20):
        draws = rng.normal(size=(count, dimension))
        gradients = draws + spread * rng.normal(size=draws.shape)
        draws -= draws.mean(0)
        fields = dense_fields(draws.T @ draws / count, draws, gradients, weights)
        assert 0.2 < fields.bias < 0.6
        along = crossed(draws, gradients, nothing, weights), fields.along(gradients, nothing)
        for found, one in zip((asked, without), along, strict=True):
            found.append(np.mean((draws * one).mean(0) / (draws**2).mean(0)))
    assert abs(np.mean(asked) - 1) < 4 * np.std(asked, ddof=1) / len(asked) ** 0.5
    assert np.mean(without) < 1 / 1.375


def test_exact_gradients_leave_no_bias():
    rng = np.random.default_rng(2)
    draws = rng.normal(size=(600, 100))
    draws -= draws.mean(0)
    fields = dense_fields(draws.T @ draws / 600, draws, 2 * draws, np.full(600, 1 / 600))
    assert fields.bias < 1e-20
    np.testing.assert_allclose(np.diag(fields.covariance), 0.5)
