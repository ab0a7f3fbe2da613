"""Lanes: each has its own step size, friction and noise, and keeps them when others are dropped."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import SGHMCSplit
from numpyro_sgmcmc.search.lanes import Lanes
from numpyro_sgmcmc.search.race import DRAWS, Race
from tests.inputs.problem import X, Y, model

STEP_SIZES = [1e-3, 0.5, 1e-2]


@pytest.mark.long
def test_lanes():
    lanes = Lanes(SGHMCSplit(model), {"rows": 4}, 4, jax.random.key(0), None, (X, Y), {})
    lanes.open(STEP_SIZES)
    found = float(lanes.start.tuned.friction)
    assert 2 < found < 100
    frictions = np.float32([found, 2.0, found])
    np.testing.assert_allclose([lanes.friction(k) for k in range(3)], frictions, rtol=1e-6)
    for value in lanes.walkers.z.values():
        np.testing.assert_array_equal(value, jnp.broadcast_to(value[0], value.shape))
    lanes.advance(5, 2, 3)
    assert lanes.draws.shape == (3, 5, 3)
    np.testing.assert_array_equal(lanes.walkers.i, [17] * 3)
    np.testing.assert_array_equal(lanes.walkers.step_size, np.float32(STEP_SIZES))
    # A step moves as far as its size: the same momentum, the same force.
    moved = np.abs(lanes.draws[:, 0] - lanes.position).max(1)
    assert moved[0] < moved[2] < moved[1]
    before = jax.tree.map(np.asarray, lanes.walkers.z)
    lanes.keep([2, 0])
    for name, value in lanes.walkers.z.items():
        np.testing.assert_array_equal(value, before[name][[2, 0]])
    lanes.advance(5, 0, 1)
    np.testing.assert_array_equal(lanes.walkers.step_size, np.float32([1e-2, 1e-3]))
    np.testing.assert_allclose([lanes.friction(k) for k in range(2)], [found] * 2, rtol=1e-6)


@pytest.mark.long
def test_lanes_of_one_step_size_have_their_own_noise():
    lanes = Lanes(SGHMCSplit(model, friction=5.0), {}, 8, jax.random.key(0), None, (X, Y), {})
    lanes.open([1e-3, 1e-3])
    lanes.advance(4, 0, 1)
    assert lanes.friction(0) is None
    assert (np.asarray(lanes.draws[0]) != np.asarray(lanes.draws[1])).any(axis=0).all()


@pytest.mark.long
def test_a_race_runs_and_counts_what_the_budget_buys():
    kernel = SGHMCSplit(model, friction=5.0, num_steps=2)
    lanes = Lanes(kernel, {"rows": 4}, 4, jax.random.key(0), None, (X, Y), {})
    lanes.open([1e-3, 2e-3, 4e-3])
    race = Race([lanes], 3, 3, False, jax.random.key(1))
    # 8 rows an iteration of two transitions: 1,000 iterations, of which 500 are burn-in.
    assert np.isfinite(race.round([0, 1, 2], 8_000.0, 0)).all()
    np.testing.assert_array_equal(lanes.walkers.i, [500 + DRAWS] * 3)
    np.testing.assert_array_equal(race.transitions, [2 * (500 + DRAWS)] * 3)
    assert np.isfinite(race.round([1], 24_000.0, 1)).all()
    np.testing.assert_array_equal(lanes.walkers.i, [500 + DRAWS + 7 * DRAWS])
    np.testing.assert_array_equal(race.transitions, 2 * (500 + DRAWS * np.array([1, 8, 1])))
    np.testing.assert_array_equal(lanes.walkers.step_size, np.float32([2e-3]))
