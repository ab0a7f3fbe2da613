"""Quantiles, intervals and tables of draws that do not weigh the same, against exact values."""

import arviz as az
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from numpyro_sgmcmc import SGRRLD, expectation, interval, quantile, summary
from numpyro_sgmcmc.results.quantile import column_quantiles, distribution_of
from tests.results.gaussian import (
    DATA,
    MEAN,
    PRECISION,
    coarse_and_fine,
    decreasing,
    exact_gradients,
    run,
    unjudged,
)

Z = 4.0  # two-sided false-failure rate of one comparison: 6e-5 (Gaussian), given fixed keys


def test_equal_weights_give_the_usual_quantiles():
    values = np.random.default_rng(0).normal(size=(1, 3, 40))
    found = column_quantiles(values, [1.0], np.ones((3, 40)), np.array([0.1, 0.5, 0.9]))
    usual = np.quantile(values, [0.1, 0.5, 0.9], method="hazen")
    np.testing.assert_allclose(found.value, usual)


def test_a_weight_of_two_is_a_draw_seen_twice():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=400), rng.integers(1, 4, 400)
    found = distribution_of(values[None, None], [1.0], weights[None].astype(float))
    repeated = np.repeat(values, weights)
    # Between draws the two interpolate differently: by no more than to the next draw.
    for p in (0.05, 0.5, 0.95):
        low, high = np.quantile(repeated, [p - 3 / 800, p + 3 / 800])
        assert low <= found.quantile(p) <= high
    assert np.diff(found.narrowest(0.9)) <= np.diff(found.quantile([0.05, 0.95]))


def test_standard_error_is_that_of_an_autoregression():
    # As the mean's test: 200 replicates know a standard deviation to 1 / sqrt(400) = 5 %; batch
    # means of length 31 lose about 5 % of a variance and the finite difference is smooth. Allowed:
    # 4 / sqrt(400) + 0.05 = 0.25, with a false-failure rate of 6e-5.
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(1_000, 200, 4))
    chains = np.empty_like(noise)
    chains[0] = noise[0] / np.sqrt(1 - 0.25)
    for t in range(1, len(noise)):
        chains[t] = 0.5 * chains[t - 1] + noise[t]
    wanted, weights = np.array([0.1]), np.ones((4, 1_000))
    runs = [column_quantiles(chains[:, r].T[None], [1.0], weights, wanted) for r in range(200)]
    value, mcse = (np.array([found[k][0] for found in runs]) for k in (0, 1))
    assert abs(np.sqrt(np.mean(mcse**2)) / np.std(value) - 1) < 0.25
    exact = norm.ppf(0.1) / np.sqrt(1 - 0.25)
    assert abs(value.mean() - exact) < Z * value.std() / np.sqrt(200)


@pytest.mark.long
def test_richardson_romberg_extrapolates_quantiles_to_their_exact_distribution():
    h, p = 0.1, 0.9
    data = unjudged(run(SGRRLD(exact_gradients, h), DATA, warmup=50, draws=300, chains=60))
    sd = lambda h: (PRECISION * (1 - h * PRECISION / 2)) ** -0.5  # noqa: E731
    fine, coarse = norm(MEAN, sd(h / 2)), norm(MEAN, sd(h))
    exact = brentq(lambda x: 2 * fine.cdf(x) - coarse.cdf(x) - p, MEAN, MEAN + 3)
    found = quantile(data, lambda sites: sites["theta"], p)
    assert abs(found.value - exact) < Z * found.mcse
    # The fine walker's own quantile would be off by more than that.
    assert abs(fine.ppf(p) - exact) > 5 * found.mcse
    low, high = interval(data, lambda sites: sites["theta"], 0.8).value
    assert high == pytest.approx(found.value)
    np.testing.assert_allclose((low + high) / 2, MEAN, atol=Z * float(found.mcse))


def test_quantiles_have_the_shapes_of_probability_and_function():
    data = unjudged(decreasing())
    found = quantile(data, lambda sites: sites["w"], [0.1, 0.5, 0.9])
    assert found.value.shape == found.mcse.shape == (3, 2)
    assert np.all(np.diff(found.value, axis=0) > 0) and np.all(found.mcse > 0)
    alone = quantile(data, lambda sites: sites["w"][1], 0.5)
    assert alone.value.shape == () and alone.value == found.value[1, 1]


def test_probabilities_outside_are_refused():
    data = unjudged(decreasing())
    with pytest.raises(ValueError, match=r"`probabilities` between 0 and 1.*got \[0.5, 1.0\]"):
        quantile(data, lambda sites: sites["w"], [0.5, 1.0])
    with pytest.raises(ValueError, match=r"`probability` between 0 and 1.*got 94"):
        interval(data, lambda sites: sites["w"], 94)


@pytest.mark.parametrize("make", [decreasing, coarse_and_fine])
def test_tables_say_the_same_in_every_format(make):
    data = unjudged(make())
    wide = summary(data)
    labelled = summary(data, fmt="xarray")
    (metric,) = {"metric", "summary"} & set(labelled.sizes)
    for column in wide.columns:
        scale, w = (np.asarray(labelled[name].sel({metric: column})) for name in ("scale", "w"))
        np.testing.assert_allclose([scale, *w], wide.loc[["scale", "w[0]", "w[1]"], column])
    long = summary(data, fmt="long")
    np.testing.assert_allclose(long.loc["mean", "w"], wide.loc[["w[0]", "w[1]"], "mean"])
    estimate = expectation(data, lambda sites: sites["w"])
    np.testing.assert_allclose(wide.loc[["w[0]", "w[1]"], "mean"], estimate.value)
    np.testing.assert_allclose(wide.loc[["w[0]", "w[1]"], "mcse_mean"], estimate.mcse)


def test_tables_of_equal_weights_keep_arvizs_formats():
    from tests.results.gaussian import momentum

    data = unjudged(momentum())
    ours, theirs = summary(data, fmt="xarray"), az.summary(data, fmt="xarray", round_to="none")
    assert ours.equals(theirs)


def test_tables_round_and_refuse():
    data = unjudged(decreasing())
    table = summary(data, round_to=2, var_names=["w"])
    np.testing.assert_array_equal(table, np.round(table.to_numpy(float), 2))
    with pytest.raises(ValueError, match=r"no `stat_funcs` .* functions ignore"):
        summary(data, stat_funcs={"max": np.max})


def test_medians_are_weighted():
    data = unjudged(decreasing())
    old = az.__version__.startswith("0.")
    table = summary(data, **({"stat_focus": "median"} if old else {"kind": "all_median"}))
    found = quantile(data, lambda sites: sites["scale"], 0.5)
    assert table.loc["scale", "median"] == pytest.approx(found.value)
    assert table.loc["scale", "mcse_median"] == pytest.approx(found.mcse)
