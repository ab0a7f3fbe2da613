"""`SGHMCSplit(model)` as it is, against quadrature."""

import numpy as np
import numpyro.diagnostics
import pytest

import numpyro_sgmcmc as sg
from tests.latents.problem import binomial, untuned
from tests.latents.quadrature import moments
from tests.marks import rarely

TRIALS, MOST = 5, 0.05
"""Trials of a row, and what the warm-up allows a standard deviation to be off."""


def data(rows, spread, seed=0):
    rng = np.random.default_rng(seed)
    effect = 0.6 + spread * rng.standard_normal(rows)
    return rng.binomial(TRIALS, 1 / (1 + np.exp(-effect))).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "batch", "spread"), rarely([(400, 40, 0.7), (1_000, 50, 0.5)], [(400, 40, 0.7)])
)
def test_moments(rows, batch, spread):
    """Means within 5 standard errors and .05 sd; sds within 5 standard errors and 5 %."""
    y = data(rows, spread)
    mcmc = untuned(binomial, y, batch, num_samples=600)
    exact = moments(y, TRIALS)
    for name, draws in mcmc.get_samples(group_by_chain=True).items():
        draws = np.asarray(draws, np.float64)
        ess = float(numpyro.diagnostics.effective_sample_size(draws))
        assert ess > 400 and numpyro.diagnostics.split_gelman_rubin(draws) < 1.02, (name, ess)
        mean, sd = exact[name]
        assert abs(draws.mean() - mean) < (5 / np.sqrt(ess) + MOST) * sd, name
        assert abs(draws.std() / sd - 1) < 5 / np.sqrt(ess) + MOST, name
    found = sg.diagnose(mcmc)
    assert "Not calibrated" not in found.sentence, found.sentence


@pytest.mark.slow
def test_a_spread_near_zero_is_right():
    """Rows without any spread: the posterior of tau has its mode at 0.

    Mean and sd within 5 standard errors and .05 sd. As the model has them, with centred latents, it
    has 120 effective draws, whose mean is 0.7 sd too high.
    """
    y = data(300, 0.0, seed=3)
    mcmc = untuned(binomial, y, 30, num_samples=600)
    found, (mean, sd) = sg.diagnose(mcmc), moments(y, TRIALS)["tau"]
    draws = np.asarray(mcmc.get_samples()["tau"], np.float64)
    ess = float(numpyro.diagnostics.effective_sample_size(draws.reshape(4, -1)))
    assert ess > 400, ess
    assert abs(draws.mean() - mean) < (5 / np.sqrt(ess) + MOST) * sd, (draws.mean(), mean)
    assert abs(draws.std() / sd - 1) < 5 / np.sqrt(ess) + MOST, (draws.std(), sd)
    assert "Not calibrated" not in found.sentence, found.sentence
