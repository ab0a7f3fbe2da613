"""Figure 5: its sides sample the posterior, and its ratios are those of the stronger peer."""

import arviz
import numpy as np
import pytest

from benchmarks.speed import effective_draws, reference
from benchmarks.speed.effective_draws import SD_BOUND, rates, schedule, strongest, times
from benchmarks.speed.effective_run import TARGET, judged, timed
from benchmarks.speed.effective_sides import SIDES, Length
from benchmarks.speed.logistic import simulate
from benchmarks.speed.newton import laplace
from benchmarks.speed.parts import NotMeasured

ROWS, COLUMNS = 2_000, 3
Z = 4.9
"""Six errors of moments a side, three sides: one false failure in 50,000, as 18 P(|x| > z)."""


@pytest.fixture(scope="module")
def data():
    return simulate(ROWS, COLUMNS)


@pytest.fixture(scope="module")
def exact(data):
    mode, hessian = reference.mode_of(data, COLUMNS)
    covariance = np.linalg.inv(hessian)
    sd = np.sqrt(np.diag(covariance))
    normal = np.random.default_rng(0).normal(size=(5_000, COLUMNS))
    draws = mode + normal @ np.linalg.cholesky(covariance).T
    log_weights = -reference.potentials(draws, data) + 0.5 * np.sum(normal**2, axis=1)
    weights = np.exp(log_weights - log_weights.max())
    moments = reference.corrected((draws - mode) / sd, weights / weights.mean())
    return {"mean": mode + sd * moments["mean"], "sd": sd * moments["sd"]}


def test_newtons_mode_and_covariance_are_those_in_double_precision(data):
    mode, hessian = reference.mode_of(data, COLUMNS)
    found, covariance = laplace(*data)
    sd = np.sqrt(np.diag(np.linalg.inv(hessian)))
    np.testing.assert_allclose((found - mode) / sd, 0.0, atol=0.01)
    np.testing.assert_allclose(covariance @ hessian, np.eye(COLUMNS), atol=1e-3)


@pytest.mark.parametrize(
    ("side", "length"),
    [
        pytest.param("ours", Length(200, 2_000), marks=pytest.mark.long),
        pytest.param("nuts", Length(150, 500), marks=pytest.mark.long),
        pytest.param("hmcecs", Length(150, 2_000), marks=pytest.mark.release),
    ],
)
def test_a_side_samples_the_posterior(data, exact, side, length):
    found = timed(side, data, length, exact, seed=0)
    assert found["ess"] > TARGET
    assert found["mean_error"] < Z / found["ess"] ** 0.5
    slack = SD_BOUND if side == "ours" else 0.0
    assert found["sd_error"] < slack + Z / (2 * found["ess_of_sd"]) ** 0.5
    assert found["rate"] == pytest.approx(found["ess"] / found["sampling"])
    until_target = found["until_warm"] + TARGET * found["sampling"] / found["ess"]
    assert found["seconds_to_target"] == pytest.approx(until_target)
    assert found["sampling"] > 0


def test_ess_and_errors_are_those_of_the_worst_parameter():
    draws = np.random.default_rng(0).normal(size=(4, 2_000, 2))
    draws[:, ::2, 1] = draws[:, 1::2, 1]
    draws[..., 1] = 3 + 2 * draws[..., 1]
    found = judged(draws, {"mean": np.array([0.0, 2.0]), "sd": np.array([1.0, 1.0])})
    first, second = (arviz.ess(draws[..., place], method="bulk") for place in (0, 1))
    assert found["ess"] == pytest.approx(second)
    assert second < first
    assert found["mean_error"] == pytest.approx(draws[..., 1].mean() - 2.0)
    assert found["sd_error"] == pytest.approx(draws[..., 1].std() - 1.0)
    assert found["rhat"] < effective_draws.LARGEST_RHAT


def run_of(rate, target, **more):
    return {
        "rate": rate,
        "seconds_to_target": target,
        "until_warm": target / 2,
        "ess": 500.0,
        "rhat": 1.0,
        "mean_error": 0.01,
        "sd_error": 0.01,
    } | more


@pytest.fixture
def found(monkeypatch):
    found = {
        "ours": [run_of(90.0, 10.0), run_of(100.0, 8.0), run_of(200.0, 9.0)],
        "nuts": [run_of(5.0, 18.0)],
        "hmcecs": [run_of(20.0, 27.0), run_of(25.0, 36.0), run_of(30.0, 30.0)],
    }
    monkeypatch.setattr(effective_draws, "runs", lambda rounds: found)
    return found


def test_each_comparison_is_with_the_stronger_peer(found):
    assert rates(3).value == pytest.approx(100 / 25)
    assert rates(3).details["peer"] == "hmcecs"
    assert times(3).value == pytest.approx(18 / 9)
    assert times(3).details["peer"] == "nuts"
    assert "means within 0.01 sd" in rates(3).shown


def test_a_peer_whose_chains_disagree_is_no_peer(found):
    found["hmcecs"][1]["rhat"] = float("nan")
    assert strongest(found, "rate", max) == "nuts"
    found["nuts"][0]["rhat"] = 1.2
    with pytest.raises(NotMeasured, match="neither peer mixes"):
        rates(3)


@pytest.mark.parametrize(("field", "value"), [("mean_error", 0.11), ("sd_error", 0.06)])
def test_a_wrong_run_of_ours_fails_both_bars(found, field, value):
    found["ours"][2][field] = value
    assert "bound" in rates(3).fails
    assert "bound" in times(3).fails


def test_nuts_runs_once_and_the_others_in_every_round():
    turns = schedule(3)
    assert [side for side, seed in turns if seed == 0] == list(SIDES)
    assert [side for side, seed in turns if seed == 1] == ["hmcecs", "ours"]
    assert turns.count(("nuts", 0)) == 1
    assert len(turns) == 7
