"""The entries of long sites that a verdict looks at."""

import arviz as az
import numpy as np
import pytest

from numpyro_sgmcmc.verdict import convergence as module
from numpyro_sgmcmc.verdict.convergence import COMPARED, LOOKED_AT, _worst, convergence
from numpyro_sgmcmc.verdict.thresholds import LARGEST_R_HAT


def autoregression(rho, length, seed=0):
    """Return stationary series of variance 1, (4, length, d), with these autocorrelations, (d,)."""
    rho = np.asarray(rho)
    noise = np.random.default_rng(seed).standard_normal((length, 4, rho.size))
    series = np.empty_like(noise)
    series[0] = noise[0]
    for at in range(1, length):
        series[at] = rho * series[at - 1] + np.sqrt(1 - rho**2) * noise[at]
    return series.swapaxes(0, 1)


@pytest.mark.parametrize("length", [240, 900, 5_007])
def test_the_slowest_entries_are_looked_at(length):
    """Times of 199 transitions against at most 19.

    An estimate of one has a relative standard error of 0.5 here at most, so that a wrong order of
    a slow and a fast one has a probability below 1e-6.
    """
    rho = np.full(120, 0.9)
    slow = np.arange(3, 120, 10)
    rho[slow] = 0.99
    series = autoregression(rho, length).astype(np.float32)
    marked = series + 1_000.0 * np.arange(120, dtype=np.float32)
    kept, _ = _worst(marked)
    assert set(slow) <= set(np.round(kept.mean((0, 1)) / 1_000.0).astype(int))
    assert kept.shape[-1] == LOOKED_AT


def test_a_long_sites_smallest_size_is_that_of_its_slowest_entry():
    """The same number as if ArviZ had looked at all of them."""
    rho = np.where(np.arange(100) == 41, 0.99, 0.5)
    series = autoregression(rho, 4_000)
    weights = np.ones(series.shape[:2])
    found = convergence({"all": series, "one": series[..., 41]}, ["all", "one"], weights, False)
    assert found["all"].ess_bulk == found["one"].ess_bulk
    # 4 x 4,000 (1 - rho) / (1 + rho), with a standard error of some 10 %: at 6 of these.
    assert abs(np.log(found["all"].ess_bulk / 80.4)) < 0.6


def test_few_entries_of_long_chains_are_looked_at(monkeypatch):
    """Eight times the draws that R-hat compares leave two entries, the slowest ones."""
    rho = np.array([0.5, 0.99, 0.5, 0.6, 0.5, 0.98, 0.6])
    series = autoregression(rho, 4_000)
    weights = np.ones(series.shape[:2])
    every = convergence({"x": series}, ["x"], weights, False)["x"]
    monkeypatch.setattr(module, "COMPARED", 500)
    slow, apart = _worst(series)
    np.testing.assert_array_equal(slow, series[..., [1, 5]])
    np.testing.assert_array_equal(apart, series)
    assert convergence({"x": series}, ["x"], weights, False)["x"].ess_bulk == every.ess_bulk


def test_an_entry_whose_chains_differ_in_their_spread_is_looked_at():
    """ArviZ's R-hat of that entry is the largest of 100 by far; their means do not differ."""
    series = autoregression(np.zeros(100), 1_000)
    means = series.mean(1, keepdims=True)
    series[:, :, 41] = (series - means)[:, :, 41] * np.array([[1.0], [1.0], [1.0], [3.0]])
    found = convergence({"x": series}, ["x"], np.ones(series.shape[:2]), False)["x"]
    assert found.r_hat == float(az.rhat(series[..., 41]))
    assert found.r_hat > LARGEST_R_HAT


def test_r_hat_of_long_chains_sees_a_chain_apart():
    """R-hat is that of every third draw; the effective sample size is that of all draws."""
    series = autoregression([0.0], 2 * COMPARED + 500)
    series[0] += 0.5
    found = convergence({"x": series}, ["x"], np.ones(series.shape[:2]), False)["x"]
    assert found.r_hat == float(az.rhat(series[:, ::3, 0]))
    assert found.r_hat > LARGEST_R_HAT
    assert found.ess_bulk == float(az.ess(series[..., 0]))
