"""Laws behind the claims' verdicts, by other means: couplings, random ages, grids, diffusions."""

import numpy as np
import pytest

from benchmarks.papers import p004_couplings, p004_grid_law
from benchmarks.papers.delay_law import random_delay_variances, stationary_variances
from benchmarks.papers.p000_claim_local_error import diffusion


@pytest.mark.parametrize("age", [0, 3])
def test_random_ages_of_one_value_are_a_fixed_age(age):
    ages = np.eye(age + 1)[age]
    fixed = stationary_variances(age, 2e-5, 10, 40)
    np.testing.assert_allclose(random_delay_variances(ages, 2e-5, 10, 40), fixed[:2], rtol=1e-6)


@pytest.mark.parametrize("pair", ["LMC, SGLDFP", "SGLD, SGD"])
def test_distances_in_closed_form_are_those_of_the_recursion(pair):
    model = p004_couplings.regression(100)
    g = 0.3 / model.curvature
    apart, spread = 0.0, 0.0
    for steps in range(1, 8):
        if pair == "SGLD, SGD":
            apart = model.keep(g) * apart + 2 * g
        else:
            apart = (1 - g * model.curvature) ** 2 * apart + g**2 * model.slope * spread
            spread = model.keep(g) * spread + 2 * g
        np.testing.assert_allclose(model.apart(pair, g, steps), apart, rtol=1e-9, atol=1e-15)
    if pair != "SGLD, SGD":
        np.testing.assert_allclose(model.spread("SGLDFP", g, 7), spread, rtol=1e-9)


@pytest.mark.parametrize("method", ["LMC", "SGLDFP", "SGLD"])
def test_a_law_on_the_grid_balances_the_gradient(method):
    """E grad U(z) = 0 where the chain is stationary, whatever the minibatches."""
    rows, eta = 100, 0.2
    center = p004_grid_law.mode(rows)
    found = p004_grid_law.law(method, rows, eta)
    scale = 1.1 * p004_grid_law.REACH * np.sqrt(found.leading_second)
    grid = center + np.linspace(-scale, scale, p004_grid_law.POINTS)
    density = p004_grid_law._stationary(p004_grid_law._transition(method, rows, eta, grid))
    pull = grid + rows * p004_grid_law.SHARES @ p004_grid_law.row_gradients(grid)
    assert abs(density @ pull) < 1e-6 * (density @ np.abs(pull))
    np.testing.assert_allclose(density @ (grid - center) ** 2, found.second, rtol=1e-9)
    # So it is not the leading term that is tested.
    assert abs(found.second / found.leading_second - 1) > 0.01


def test_the_diffusion_is_the_limit_of_many_small_steps():
    start, time, steps = np.array([0.03, 1.0]), 0.02, 4_000
    curvature, shift, h = 1_001.0, 50.0, time / steps
    mean, covariance = start, np.zeros((2, 2))
    move = np.array([[1, h], [-h * curvature, 1 - 30 * h]])
    for _ in range(steps):
        mean = move @ mean - np.array([0, h * shift])
        covariance = move @ covariance @ move.T + np.diag([0, 60 * h])
    exact = diffusion(curvature, shift, start, time)
    # Euler's error over a time is of order h, here 5e-6 times rates of 1,000 x 0.02.
    np.testing.assert_allclose(mean, exact[0], atol=1e-3)
    np.testing.assert_allclose(covariance, exact[1], atol=1e-3)
