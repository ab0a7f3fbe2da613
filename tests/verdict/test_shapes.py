"""Shapes of distributions: skewed ones have one hill, mixtures have a valley."""

import numpy as np
import pytest

from numpyro_sgmcmc.verdict.batches import batches_of
from numpyro_sgmcmc.verdict.shapes import bimodality, has_valley

CHAINS, DRAWS = 4, 1_000
WEIGHTS = np.ones((CHAINS, DRAWS))
BATCHES = batches_of(WEIGHTS, is_together=False)


def normals(seed, correlation=0.0):
    """Return draws of N(0, 1), whose neighbours have this correlation, flattened by chain."""
    noise = np.random.default_rng(seed).normal(size=(CHAINS, DRAWS))
    for k in range(1, DRAWS):
        noise[:, k] = correlation * noise[:, k - 1] + np.sqrt(1 - correlation**2) * noise[:, k]
    return noise.reshape(-1)


def coefficient(draws):
    return bimodality(draws[:, None], WEIGHTS.reshape(-1) / WEIGHTS.size)[0]


@pytest.mark.parametrize("share", [0.5, 0.1, 0.03])
def test_two_modes_have_a_valley_between_them(share):
    second = np.random.default_rng(0).random(CHAINS * DRAWS) < share
    assert has_valley(normals(1) + 6 * second, BATCHES)


def test_a_chain_in_another_mode_makes_a_valley():
    elsewhere = np.repeat([0.0, 0.0, 0.0, 6.0], DRAWS)
    assert has_valley(normals(1, correlation=0.5) + elsewhere, BATCHES)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8])
def test_one_mode_seldom_has_a_valley(correlation):
    """Chance makes one with a probability of 3 %: of 40 runs more than 6 have one in 1e-4."""
    found = [has_valley(normals(seed, correlation), BATCHES) for seed in range(40)]
    assert sum(found) <= 6


def test_a_skewed_distribution_has_one_hill_whatever_its_coefficient():
    """Minus a Gamma variable of shape 0.6: its coefficient is (4 + k) / (3 k + 6) > 5 / 9.

    Chance makes a valley with a probability of 17 %: of 40 runs more than 16 have one in 2e-4.
    """
    runs = [-np.random.default_rng(s).gamma(0.6, size=CHAINS * DRAWS) for s in range(40)]
    assert np.median([coefficient(draws) for draws in runs]) > 5 / 9
    assert sum(has_valley(draws, BATCHES) for draws in runs) <= 16
