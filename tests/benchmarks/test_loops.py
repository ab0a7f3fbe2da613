"""The hand-written loops sample what the kernels sample; figure 5's reference is sound."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.util import potential_energy

from benchmarks.speed import network, reference
from benchmarks.speed.conditioned import CONDITION, mixing
from benchmarks.speed.logistic import gradient, potential, simulate, whole_model
from benchmarks.speed.loops import block_of, fixed_point, langevin, loop, splitting
from tests.marks import briefly

ROWS, COLUMNS, BATCH = 200, 3, 20


@pytest.fixture(scope="module")
def data():
    return simulate(ROWS, COLUMNS)


def test_the_potential_by_hand_is_the_models(data):
    theirs = jax.value_and_grad(lambda w: potential_energy(whole_model, data, {}, {"weights": w}))
    at = jnp.array([0.3, -0.2, 0.1])
    (value, slope), other = theirs(at), jnp.zeros(COLUMNS)
    np.testing.assert_allclose(slope, gradient(at, *data, 1.0), rtol=1e-4)
    constant = theirs(other)[0] - potential(other, *data, 1.0)
    np.testing.assert_allclose(value - potential(at, *data, 1.0), constant, rtol=1e-4)


@pytest.mark.parametrize(
    "kind", briefly(["langevin", "blocks", "fixed_point", "splitting"], ["splitting"])
)
def test_a_loop_has_the_posteriors_moments(data, kind):
    mode, hessian = reference.mode_of(data, COLUMNS)
    anchor = jnp.asarray(mode, jnp.float32)
    start = lambda weights: weights  # noqa: E731
    if kind == "langevin":
        step = langevin(2e-4, BATCH)
    elif kind == "blocks":
        step = langevin(2e-4, BATCH, block_of)
    elif kind == "fixed_point":
        step = fixed_point(1e-3, BATCH, anchor, gradient(anchor, *data, 1.0))
    else:
        step = splitting(1e-2, BATCH, 10.0)
        start = lambda weights: (weights, jnp.zeros_like(weights))  # noqa: E731
    draws = np.asarray(loop(step, start, 100_000)(jax.random.key(0), anchor, *data)[1])
    sd = np.sqrt(np.diag(np.linalg.inv(hessian)))
    np.testing.assert_allclose((draws.mean(0) - mode) / sd, 0.0, atol=0.2)
    np.testing.assert_allclose(draws.std(0) / sd, 1.0, atol=0.2)


@pytest.mark.long
def test_the_networks_loss_is_its_models_potential():
    data, weights = network.simulate(), network.start()
    batch = network.BATCH
    found = network.loss(weights, data[0][:batch], data[1][:batch])

    def of_rows(features, label):
        from numpyro.handlers import substitute

        rows = {"rows": jnp.arange(batch)}
        return substitute(network.model, data=rows)(features, label)

    zero = {name: jnp.zeros_like(w) for name, w in weights.items()}
    at_zero = network.loss(zero, data[0][:batch], data[1][:batch])
    theirs = potential_energy(of_rows, data, {}, weights)
    theirs_at_zero = potential_energy(of_rows, data, {}, zero)
    np.testing.assert_allclose(found - at_zero, theirs - theirs_at_zero, rtol=1e-3)


def test_features_have_the_condition_that_is_named():
    assert np.linalg.cond(mixing().T @ mixing()) == pytest.approx(CONDITION)


def test_importance_weights_correct_the_moments():
    white = np.random.default_rng(0).normal(size=(400_000, 1))
    shifted = np.exp(0.1 * white[:, 0] - 0.005)
    moments = reference.corrected(white, shifted / shifted.mean())
    assert moments["mean"][0] == pytest.approx(0.1, abs=5 * moments["mean_error"][0])
    assert moments["sd"][0] == pytest.approx(1.0, abs=5 * moments["sd_error"][0])


def test_the_references_own_error_is_small_beside_the_bounds():
    known = reference.load()
    assert known["khat"] < reference.LARGEST_KHAT
    assert known["largest_mean_error_in_sd"] < 0.01
    assert known["largest_relative_sd_error"] < 0.005
    assert known["effective_draws"] > 0.9 * known["draws"]


def test_the_networks_ratio_is_taken_over_the_rounds_of_all_processes():
    found = [
        {"threefry2x32": [3.0, 6.0], "rbg": [9.0, 9.0], "optax": [2.0, 3.0]},
        {"threefry2x32": [1.0, 8.0], "rbg": [9.0, 9.0], "optax": [1.0, 4.0]},
    ]
    summary = network.summary(found)
    assert summary.value == 1.75  # The ratios of the rounds are 1, 1.5, 2 and 2.
    assert summary.details["ratios_of_rounds"] == [1.0, 1.5, 2.0, 2.0]
    assert summary.details["ratios_of_processes"] == [1.75, 1.5]
    assert "4 alternating rounds in 2 processes" in summary.shown
    assert "rbg keys" in summary.shown
