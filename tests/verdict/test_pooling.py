"""Errors of many entries that are judged together.

Measurements are made by NumPy: each entry has a bias that is known, and batches have independent
normal errors, so that what may be concluded is known too. Seeds are fixed.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc.verdict.batches import batches_of
from numpyro_sgmcmc.verdict.errors import Errors
from numpyro_sgmcmc.verdict.pooling import mean_square, pooled
from numpyro_sgmcmc.verdict.thresholds import POOLED
from tests.verdict.draws import independent, scales, verdict

BATCHES = batches_of(np.ones((4, 1_000)), False)
COUNT = len(BATCHES.mass)
Z = 4.5
"""Standard errors: a false failure of one of these tests has probability 7e-6 a comparison."""


def _batch_means(rng, bias, error, common=0.0):
    """Batches' measurements of biases, whose averages have these standard errors."""
    own = error * rng.normal(size=(COUNT, len(bias)))
    return bias + np.sqrt(COUNT) * (own + common * rng.normal(size=(COUNT, 1)))


def _errors(series):
    value = BATCHES.mass @ series
    error = BATCHES.standard_error(series - value)
    return Errors(value, error, error, series - value)


def _judged(series, sites=None):
    sites = np.full(series.shape[1], "z") if sites is None else sites
    return pooled(_errors(series), BATCHES, sites, 0.1)


@pytest.mark.parametrize("common", [0.0, 0.05])
def test_the_mean_square_has_no_bias_and_its_standard_error_is_not_too_small(common):
    rng, bias = np.random.default_rng(0), np.random.default_rng(1).normal(0, 0.03, 200)
    found = np.array(
        [mean_square(_batch_means(rng, bias, 0.05, common), BATCHES.mass) for _ in range(400)]
    )
    square, error = found.T
    spread = square.std(ddof=1)
    assert abs(square.mean() - np.mean(bias**2)) < Z * spread / np.sqrt(400)
    # An sd of 400 values has a standard error of 3.5 %.
    assert np.sqrt(np.mean(error**2)) > (1 - Z * 0.035) * spread


def test_weights_of_batches_count():
    rng = np.random.default_rng(0)
    mass = rng.uniform(0.5, 2, COUNT)
    mass /= mass.sum()
    series = rng.normal(0.3, 1, (COUNT, 1))
    pairs = [
        (mass[a] * mass[b], series[a, 0] * series[b, 0])
        for a in range(COUNT)
        for b in range(COUNT)
        if a != b
    ]
    weights, products = np.array(pairs).T
    expected = weights @ products / weights.sum()
    assert mean_square(series, mass)[0] == pytest.approx(expected, rel=1e-10)


def test_many_right_entries_are_known_better_together():
    """The mean square of their biases has a standard error of 0.05^2 sqrt(2 / 1,000), or 0.01^2."""
    found = _judged(_batch_means(np.random.default_rng(0), np.zeros(1_000), 0.05))
    assert np.max(found.monte_carlo) < 0.025


@pytest.mark.parametrize(("centre", "spread"), [(0.0, 0.0), (0.08, 0.0), (0.0, 0.05), (0.1, 0.03)])
def test_intervals_hold_the_biases(centre, spread):
    """2 standard errors miss 4.6 %, at most: the spread of biases is an upper bound."""
    rng = np.random.default_rng(0)
    missed = []
    for _ in range(20):
        bias = rng.normal(centre, spread, 300)
        found = _judged(_batch_means(rng, bias, 0.04))
        missed.append(np.mean(np.abs(found.value - bias) > 2 * found.monte_carlo))
    # 6,000 entries: the share has a standard error of 0.27 %.
    assert np.mean(missed) < 0.0455 + Z * 0.0027


def test_what_entries_have_in_common_is_not_averaged_away():
    rng, missed = np.random.default_rng(0), 0
    for _ in range(100):
        found = _judged(_batch_means(rng, np.zeros(500), 0.04, common=0.03))
        missed += abs(found.value.mean()) > 3 * found.monte_carlo.mean()
    # A true 0.27 %, in Student's t with 31 degrees of freedom 0.5 %: four of 100 have chance 2e-3.
    assert missed < 4


def test_a_single_wrong_entry_stands_for_itself():
    bias = np.zeros(400)
    bias[7] = 0.5
    series = _batch_means(np.random.default_rng(0), bias, 0.05)
    alone, found = _errors(series), _judged(series)
    assert found.value[7] == alone.value[7]
    assert found.monte_carlo[7] == alone.monte_carlo[7]
    assert np.all(np.delete(found.monte_carlo < alone.monte_carlo, 7))


def test_few_entries_and_imprecise_ones_stand_for_themselves():
    few = _batch_means(np.random.default_rng(0), np.zeros(POOLED - 1), 0.05)
    imprecise = _batch_means(np.random.default_rng(0), np.zeros(400), 0.2)
    for series in (few, imprecise):
        np.testing.assert_array_equal(_judged(series).value, _errors(series).value)


def test_sites_are_judged_one_by_one():
    rng = np.random.default_rng(0)
    right, wrong = (
        _batch_means(rng, np.zeros(200), 0.03),
        _batch_means(rng, np.full(200, 0.3), 0.03),
    )
    both = _judged(np.concatenate([right, wrong], axis=1), np.repeat(["a", "b"], 200))
    np.testing.assert_allclose(both.value[:200], _judged(right).value)
    np.testing.assert_allclose(both.value[200:], _judged(wrong).value)


MANY = (jnp.ones(600),)


@pytest.mark.long
def test_a_verdict_on_many_effects_needs_no_more_draws_than_one_on_few():
    """Each of 600 sds has an error of 2 %, so that some are beyond 5 %; none has a bias."""
    x = independent(np.random.default_rng(0), (4, 300, 600))
    found = verdict(scales, MANY, x)
    assert np.max(np.abs(x.std((0, 1)) - 1)) > 0.05
    assert found.calibrated, found.sentence


@pytest.mark.parametrize("fault", [1.08, 0.93])
def test_a_bias_of_all_effects_is_seen(fault):
    x = fault * independent(np.random.default_rng(0), (4, 300, 600))
    assert not verdict(scales, MANY, x).calibrated


@pytest.mark.long
def test_biases_that_differ_are_seen():
    """A third of the effects 10 % too wide, a third 10 % too narrow: right on average."""
    factors = np.tile([0.9, 1.0, 1.1], 200)
    x = factors * independent(np.random.default_rng(0), (4, 1_000, 600))
    assert not verdict(scales, MANY, x).calibrated


@pytest.mark.parametrize("factor", [1.3, 0.75])
def test_one_wrong_effect_of_many_is_seen(factor):
    x = independent(np.random.default_rng(0), (4, 300, 600))
    x[..., 17] *= factor
    assert not verdict(scales, MANY, x).calibrated
