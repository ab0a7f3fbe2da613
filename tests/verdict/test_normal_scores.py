"""Coordinates with heavy tails: their normal scores, and errors measured on that scale."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import SGRRLD
from numpyro_sgmcmc.verdict import moments
from numpyro_sgmcmc.verdict.batches import batches_of
from numpyro_sgmcmc.verdict.moments import moments_of
from numpyro_sgmcmc.verdict.normal_scores import (
    LEVELS,
    along_scores,
    is_heavy,
    knots_of,
    scores,
)
from numpyro_sgmcmc.verdict.tapered import tapered_moments
from tests.verdict.draws import verdict


class Density(NamedTuple):
    """Draws of a distribution with a heavy tail, and the derivative of its -log density."""

    draws: Any
    slope: Any


DENSITIES = {
    "laplace": Density(lambda rng, shape: rng.laplace(size=shape), np.sign),
    "student": Density(lambda rng, shape: rng.standard_t(3, shape), lambda x: 4 * x / (3 + x**2)),
    "log of a half normal": Density(
        lambda rng, shape: np.log(np.abs(rng.normal(size=shape))), lambda x: np.exp(2 * x) - 1
    ),
}
EVERY = pytest.mark.parametrize("name", DENSITIES)


def equal(count):
    return np.full(count, 1 / count)


@EVERY
def test_scores_increase_and_have_their_derivatives(name):
    draws = DENSITIES[name].draws(np.random.default_rng(0), 4_000)
    knots = knots_of(draws, equal(4_000))
    assert np.array_equal(np.round(scores(knots, knots).values, 9), LEVELS)
    # Away from the knots, where the second derivative jumps.
    grid = np.linspace(1.5 * knots[0], 1.5 * knots[-1] + 1, 3_001)
    grid = grid[np.min(np.abs(grid[:, None] - knots), axis=1) > 1e-3]
    found, step = scores(knots, grid), 1e-5
    higher, lower = scores(knots, grid + step), scores(knots, grid - step)
    assert np.all(np.diff(found.values) > 0)
    # Differences of doubles: 1e-16 / 1e-5, and the third derivative times 1e-10.
    slopes = (higher.values - lower.values) / (2 * step)
    np.testing.assert_allclose(found.first, slopes, atol=1e-7, rtol=1e-6)
    bends = (higher.first - lower.first) / (2 * step)
    np.testing.assert_allclose(found.second, bends, atol=1e-7, rtol=1e-6)


def test_the_first_derivative_is_continuous_at_knots():
    """Stein's identity needs it. The knots' gaps grow threefold, as those of Cauchy's tails do."""
    gaps = 3.0 ** np.abs(np.arange(8) - 3.5)
    knots = np.concatenate([[0.0], np.cumsum(gaps)])
    below, above = (scores(knots, knots + side * 1e-9).first for side in (-1, 1))
    np.testing.assert_allclose(below, above, rtol=1e-6)
    assert np.all(below > 0)


@EVERY
def test_normal_scores_are_nearly_normal(name):
    """100,000 draws with 9 knots. Student's t keeps a trace of its tail: its kurtosis is 3.7."""
    draws = DENSITIES[name].draws(np.random.default_rng(0), 100_000)
    standardised = (draws - draws.mean()) / draws.std()
    assert is_heavy(standardised[:, None] ** 2, equal(100_000))
    z = scores(knots_of(draws, equal(100_000)), draws).values
    assert np.mean(z) == pytest.approx(0, abs=0.02)
    assert np.std(z) == pytest.approx(1, abs=0.03)
    assert not is_heavy(((z - z.mean()) / z.std())[:, None] ** 2, equal(100_000))


@EVERY
def test_derivatives_along_scores_satisfy_steins_identity(name):
    """Knots of other draws. 4 standard errors, six averages in all: false-failure rate 4e-4."""
    density, rng = DENSITIES[name], np.random.default_rng(0)
    knots = knots_of(density.draws(rng, 500), equal(500))
    x = density.draws(rng, 200_000)
    found = scores(knots, x)
    slopes = along_scores(found, density.slope(x))
    z = found.values
    taper = np.exp(-(z**2) / 4)
    for averaged in (slopes * taper + z / 2 * taper, z * slopes * taper - taper * (1 - z**2 / 2)):
        assert abs(averaged.mean()) < 4 * averaged.std() / np.sqrt(len(x))


def test_tapered_moments_find_another_gaussian():
    """The posterior is N(m, v) in the units of 200,000 Gaussian draws, by averages of these.

    Their errors of chance are 0.3 %; allowed are 5 of them, false-failure rate 4e-6.
    """
    z = np.random.default_rng(0).normal(size=(200_000, 3))
    z = (z - z.mean(0)) / z.std(0)
    mean, variance = np.array([0.0, 0.1, -0.1]), np.array([1.0, 1.3, 0.7])
    weights = equal(len(z))
    found = tapered_moments(z, weights, z, (z - mean) / variance, weights).asked
    np.testing.assert_allclose(found.mean, mean, atol=0.015)
    np.testing.assert_allclose(found.square - found.mean**2, variance, rtol=0.015)


def errors(density, factor, length, noise):
    """Errors of variances, their claimed standard errors, and what is scored, by replicate."""
    rng, replicates = np.random.default_rng(3), 200
    x = factor * density.draws(rng, (4 * length, replicates))
    slopes = density.slope(x)
    slopes = slopes + noise * slopes.std() * rng.normal(size=x.shape)
    batches, places = batches_of(np.ones((4, length)), False), np.arange(4 * length)
    nothing = np.zeros((4 * length, 0))
    inputs = x - x.mean(0), slopes, x.mean(0), x.std(0)
    found = moments_of(batches, places, equal(4 * length), x, nothing, inputs, None)
    asked = found.square - found.mean**2
    series = (found.square_series - found.square_asked_series) / asked
    return 1 / asked - 1, batches.standard_error(series), np.isfinite(found.knots[0])


@EVERY
@pytest.mark.parametrize("noise", [0.0, 0.7])
def test_errors_of_exact_draws_are_chance_as_large_as_is_claimed(name, noise):
    """200 replicates: their mean within 4 standard errors, their spread within 4 x 5 %.

    A standard error by 32 batches is itself uncertain by an eighth, which adds a hundredth.
    """
    value, claimed, scored = errors(DENSITIES[name], 1.0, 250, noise)
    assert scored.mean() > 0.9
    value, claimed = value[scored], claimed[scored]
    assert abs(value.mean()) < 4 * value.std() / np.sqrt(len(value))
    assert (value / claimed).std() == pytest.approx(1, abs=0.22)


@EVERY
def test_draws_that_are_too_wide_are_seen_to_be(name):
    """20 % too wide: of the log of a scale and of Laplace's tails some 15 % as normal scores."""
    value, _, _ = errors(DENSITIES[name], 1.2, 250, 0.7)
    assert 0.1 < np.sqrt(1 + value.mean()) - 1 < 0.25


def double_exponential():
    numpyro.sample("z", dist.Laplace(jnp.zeros(3), 1.0).to_event(1))


def student():
    numpyro.sample("z", dist.StudentT(3.0, jnp.zeros(3), 1.0).to_event(1))


@pytest.mark.parametrize("model", [double_exponential, student])
def test_a_heavy_tail_needs_no_more_draws_than_a_light_one(model):
    """5,000 draws know the sd of Student's t with 3 degrees of freedom to some 10 %."""
    rng = np.random.default_rng(0)
    shape = 4, 1_250, 3
    draws = rng.laplace(size=shape) if model is double_exponential else rng.standard_t(3, shape)
    found = verdict(model, (), draws)
    assert found.calibrated, found.sentence
    assert "'z' has heavy tails: its intervals are judged" in found.sentence
    for factor in (1.15, 0.85):
        wrong = verdict(model, (), factor * draws)
        assert not wrong.calibrated
        assert "(on the scale of normal scores, because its tails are heavy)" in wrong.sentence, (
            wrong.sentence
        )


def test_the_error_of_an_extrapolated_standard_deviation_is_that_of_all_walkers():
    """The reported variance is the sum of the fine walker's two, less the coarse walker's.

    With paths of their own its error is sqrt(3) times one walker's.
    """
    paths = np.random.default_rng(0).laplace(size=(3, 8, 5_000, 3))
    walkers = {"z_halfway": {"z": paths[1]}, "z_coarse": {"z": paths[2]}}
    kernel = SGRRLD(double_exponential, 1e-3)
    found = verdict(double_exponential, (), paths[0], kernel=kernel, walkers=walkers)
    assert found.calibrated, found.sentence
    batches = batches_of(np.ones((8, 5_000)), False)
    centred = paths - paths.mean((1, 2), keepdims=True)
    first, half, coarse = (centred**2).reshape(3, -1, 3)
    squares = first + half - coarse
    error = batches.standard_error(batches.means(squares)) / (2 * squares.mean(0))
    assert f"standard deviation is {100 * error.max():.1f} %" in found.sentence
    alone = batches.standard_error(batches.means(first)) / (2 * first.mean(0))
    assert error.max() > 1.4 * alone.max()


def test_chains_that_do_not_mix_are_judged_without_scores(monkeypatch):
    """Scores of a network's thousands of parameters take longer than the rest of a verdict."""
    made = []

    def counted(*given):
        made.append(1)
        return knots_of(*given)

    monkeypatch.setattr(moments, "knots_of", counted)
    draws = np.random.default_rng(0).laplace(size=(4, 1_250, 3))
    verdict(double_exponential, (), draws)
    assert len(made) == 3
    draws[..., 0] += 5 * np.arange(4)[:, None]
    found = verdict(double_exponential, (), draws)
    assert found.sentence.startswith("Not known yet: the chains"), found.sentence
    assert len(made) == 3
    assert np.isfinite(found.sites["sd_error"]).all()


def test_light_tails_are_judged_as_they_are():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4_000, 200))
    standardised = (x - x.mean(0)) / x.std(0)
    assert not is_heavy(standardised**2, equal(4_000)).any()
    *_, scored = errors(Density(lambda rng, shape: rng.normal(size=shape), lambda x: x), 1, 250, 1)
    assert not scored.any()
