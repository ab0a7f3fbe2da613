import arviz as az
import jax
import numpy as np
import pytest

from numpyro_sgmcmc import (
    SGLD,
    SGRRLD,
    RichardsonRomberg,
    expectation,
    polynomial,
    summary,
)
from numpyro_sgmcmc.results.estimate import weighted_mean
from tests.marks import briefly
from tests.results.gaussian import (
    DATA,
    MEAN,
    PRECISION,
    decreasing,
    exact_gradients,
    regression,
    regression_data,
    run,
    unjudged,
)

Z = 4.0  # two-sided false-failure rate of one comparison: 6e-5 (Gaussian), given fixed keys


def test_weighted_mean_is_the_ratio_estimator():
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=(3, 50, 2)), rng.uniform(1, 2, (3, 50))
    estimate = weighted_mean(values, weights)
    expected = np.average(values.reshape(-1, 2), axis=0, weights=weights.reshape(-1))
    np.testing.assert_allclose(estimate.value, expected)
    assert estimate.mcse.shape == (2,)


def test_standard_error_is_that_of_an_autoregression():
    # 400 replicates of 4 chains x 2,500 draws of an AR(1) with coefficient 0.5: autocorrelation
    # time 3. The standard deviation of 400 estimates is known to 1 / sqrt(800); batch means of
    # length 50 lose about 4 % of a variance. Allowed: 4 / sqrt(800) + 0.04 = 0.18, with a
    # false-failure rate of 6e-5.
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(2_500, 400, 4))
    chains = np.empty_like(noise)
    chains[0] = noise[0] / np.sqrt(1 - 0.25)
    for t in range(1, len(noise)):
        chains[t] = 0.5 * chains[t - 1] + noise[t]
    runs = [weighted_mean(chains[:, r].T, np.ones((4, 2_500))) for r in range(400)]
    spread = np.std([run.value for run in runs])
    claimed = np.sqrt(np.mean([run.mcse**2 for run in runs]))
    assert abs(claimed / spread - 1) < 0.18


def test_too_few_draws_are_refused():
    with pytest.raises(ValueError, match=r"at least 4 draws .* got 1 x 3"):
        weighted_mean(np.ones((1, 3)), np.ones((1, 3)))


@pytest.mark.long
def test_decreasing_steps_weigh_by_step_size():
    schedule = polynomial(0.05, 2.0, 0.4)
    draws, chains = 100, 400
    mcmc = run(SGLD(exact_gradients, schedule), DATA, warmup=0, draws=draws, chains=chains)
    start = np.asarray(_starts(chains))
    data = unjudged(mcmc)
    steps = np.asarray([schedule(count) for count in range(draws)], np.float64)
    # E[(theta_l - mean)^2] by the exact recursion, chain by chain from its own start.
    second, exact = (start - MEAN) ** 2, []
    for h in steps:
        second = (1 - h * PRECISION) ** 2 * second + 2 * h
        exact.append(second.mean())
    expected = np.average(exact, weights=steps)
    values = [expectation_of_chain(data, chain, steps) for chain in range(chains)]
    estimate = expectation(data, lambda sites: (sites["theta"] - MEAN) ** 2)
    np.testing.assert_allclose(estimate.value, np.mean(values), rtol=1e-5)
    assert abs(estimate.value - expected) < Z * np.std(values) / np.sqrt(chains)
    # Equal weights would be off by more than that: the early, too wide draws count for less.
    assert abs(np.mean(exact) - expected) > Z * np.std(values) / np.sqrt(chains)


def expectation_of_chain(data, chain, steps):
    theta = np.asarray(data["posterior"]["theta"][chain], np.float64)
    return np.average((theta - MEAN) ** 2, weights=steps)


def _starts(chains):
    kernel = SGLD(exact_gradients, 0.01)
    keys = jax.random.split(jax.random.key(3), chains)
    return kernel.init(keys, 0, None, (DATA,), {}).z["theta"]


@pytest.mark.parametrize("levels", briefly([2, 3], [2]))
def test_richardson_romberg_extrapolates_to_its_exact_distribution(levels):
    h, draws, chains = 0.08, 300, 150
    kernel = SGRRLD(exact_gradients, h)
    if levels == 3:
        kernel = RichardsonRomberg(SGLD(exact_gradients, h), levels=3)
    mcmc = run(kernel, DATA, warmup=50, draws=draws, chains=chains)
    data = unjudged(mcmc)
    stationary = lambda h: 1 / (PRECISION * (1 - h * PRECISION / 2))  # noqa: E731
    extrapolated = 2 * stationary(h / 2) - stationary(h)
    if levels == 3:
        extrapolated = (8 * stationary(h / 4) - 6 * stationary(h / 2) + stationary(h)) / 3
    estimate = expectation(data, lambda sites: (sites["theta"] - MEAN) ** 2)
    # With exact gradients Euler's stationary variance is 1 / (lambda (1 - h lambda / 2)).
    assert abs(estimate.value - extrapolated) < Z * estimate.mcse
    finest = stationary(h / 2 ** (levels - 1))
    assert abs(finest - extrapolated) > 5 * estimate.mcse
    fine = np.asarray(data["posterior"]["theta"])
    np.testing.assert_allclose(fine.var(), finest, rtol=0.05)
    table = summary(data)
    np.testing.assert_allclose(table.loc["theta", "sd"] ** 2, estimate.value, rtol=0.02)


def test_summary_is_arvizs_for_a_constant_step():
    x, y = regression_data()
    data = unjudged(run(SGLD(regression, 1e-3), x, y))
    ours, theirs = summary(data), az.summary(data, round_to="none")
    np.testing.assert_array_equal(ours.to_numpy(float), theirs.to_numpy(float))
    assert list(summary(data, var_names=["scale"]).index) == ["scale"]


def test_summary_weighs_means_and_intervals():
    data = unjudged(decreasing())
    table = summary(data)
    weights = np.asarray(data["sample_stats"]["weight"], np.float64)
    for name, label in (("scale", "scale"), ("w", "w[1]")):
        values = np.asarray(data["posterior"][name], np.float64)
        values = values[..., 1] if name == "w" else values
        mean = np.average(values, weights=weights)
        variance = np.average((values - mean) ** 2, weights=weights)
        np.testing.assert_allclose(table.loc[label, "mean"], mean, rtol=1e-6)
        np.testing.assert_allclose(table.loc[label, "sd"], np.sqrt(variance), rtol=1e-6)
        error = weighted_mean(values, weights).mcse
        np.testing.assert_allclose(table.loc[label, "mcse_mean"], error, rtol=1e-6)
        ends = [column for column in table.columns if column.startswith(("hdi", "eti"))]
        order = np.argsort(values, axis=None)
        inside = (values >= table.loc[label, ends[0]]) & (values <= table.loc[label, ends[1]])
        probability = 0.94 if ends[0].startswith("hdi") else 0.89  # ArviZ 0.x's, 1.x's
        # The heaviest of 100 draws may fall on either side of an end.
        heaviest = weights.reshape(-1)[order].max() / weights.sum()
        assert abs(np.average(inside, weights=weights) - probability) < 2 * heaviest
    assert {"ess_bulk", "r_hat"} <= set(table.columns)
