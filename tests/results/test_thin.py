"""Draws thinned to equal weight estimate what weighted ones do."""

import numpy as np
import pytest

from numpyro_sgmcmc import expectation, thin_by_weight
from numpyro_sgmcmc.results.groups import assemble, group_names
from tests.results.gaussian import coarse_and_fine, decreasing, momentum, unjudged


def made_up(weights):
    """A run whose draws are their own position."""
    position = np.broadcast_to(np.arange(weights.shape[1], dtype=float), weights.shape)
    groups = {
        "posterior": {"place": position, "pair": np.stack([position, -position], axis=-1)},
        "sample_stats": {"weight": weights, "diverging": np.zeros(weights.shape, bool)},
        "observed_data": {"y": np.arange(3.0)},
    }
    return assemble(groups, {}, {}, {"kernel": "none"})


def test_equal_weights_change_nothing():
    data = unjudged(momentum())
    thinned = thin_by_weight(data)
    for group in group_names(data):
        for name in data[group].data_vars:
            np.testing.assert_allclose(thinned[group][name], data[group][name], rtol=1e-6)


def test_draws_are_evenly_spaced_in_time_and_none_is_taken_twice():
    weights = (1.0 + np.arange(2_000.0)) ** -0.3 * np.ones((2, 1))
    thinned = thin_by_weight(made_up(weights))
    count = int(weights[0].sum() / weights[0].max())
    kept = np.asarray(thinned["posterior"]["place"])
    assert kept.shape == (2, count) and np.all(np.diff(kept, axis=1) > 0)
    # The midpoint rule: off by at most half a stretch times the slope, summed over stretches.
    for power in (1, 2):
        weighted = np.average(np.arange(2_000.0) ** power, weights=weights[0])
        np.testing.assert_allclose(np.mean(kept**power), weighted, rtol=2 / count)
    np.testing.assert_array_equal(thinned["posterior"]["pair"][..., 1], -kept)
    np.testing.assert_allclose(thinned["sample_stats"]["weight"].sum("draw"), weights.sum(1))
    np.testing.assert_array_equal(thinned["observed_data"]["y"], np.arange(3.0))
    assert thinned["posterior"].attrs["kernel"] == "none"


def test_more_draws_may_be_asked_for():
    weights = np.array([[3.0, 1.0, 1.0, 1.0]])
    kept = thin_by_weight(made_up(weights), 6)["posterior"]["place"]
    np.testing.assert_array_equal(kept, [[0, 0, 0, 1, 2, 3]])
    with pytest.raises(ValueError, match=r"`num_draws` to be a positive integer; got 0"):
        thin_by_weight(made_up(weights), 0)


def test_real_runs_keep_their_estimates_within_chance():
    data = unjudged(decreasing(), log_likelihood=True)
    thinned = thin_by_weight(data)
    found = expectation(data, lambda sites: sites["w"])
    mean = np.asarray(thinned["posterior"]["w"]).mean((0, 1))
    # Fewer of the same draws: 4 standard errors of the larger sample are generous (6e-5 each).
    assert np.all(np.abs(mean - found.value) < 4 * found.mcse)
    assert thinned["log_likelihood"].sizes["draw"] == thinned["posterior"].sizes["draw"] < 50


def test_walkers_are_thinned_together():
    data = unjudged(coarse_and_fine())
    thinned = thin_by_weight(data, 10)
    fine, coarse = (np.asarray(thinned[g]["w"]) for g in ("posterior", "posterior_coarse"))
    places = [np.flatnonzero(np.all(data["posterior"]["w"][0] == w, axis=-1))[0] for w in fine[0]]
    np.testing.assert_array_equal(coarse[0], data["posterior_coarse"]["w"][0][places])
