import warnings

import arviz as az
import jax
import numpy as np
import pytest
from numpyro.infer import MCMC, NUTS
from numpyro.infer import log_likelihood as numpyro_log_likelihood

from numpyro_sgmcmc import SGLD, expectation, polynomial, to_inference_data
from numpyro_sgmcmc.results import whole
from tests.results.gaussian import (
    DATA,
    coarse_and_fine,
    exact_gradients,
    regression,
    regression_data,
    run,
    unjudged,
)


@pytest.fixture(scope="module")
def finished():
    x, y = regression_data()
    return run(SGLD(regression, 1e-3), x, y, warmup=300), x, y


def test_groups_hold_the_whole_data(finished):
    mcmc, x, y = finished
    data = unjudged(mcmc, coords={"column": ["a", "b"]})
    posterior = data["posterior"]
    assert posterior["w"].dims == ("chain", "draw", "column")
    assert list(posterior["w"]["column"].values) == ["a", "b"]
    np.testing.assert_array_equal(posterior["w"], mcmc.get_samples(group_by_chain=True)["w"])
    np.testing.assert_allclose(posterior["total"], posterior["w"].sum("column"), rtol=1e-5)
    assert float(posterior["scale"].min()) > 0
    np.testing.assert_array_equal(data["observed_data"]["y"], y)
    assert data["observed_data"]["y"].dims == ("rows",)
    np.testing.assert_array_equal(data["constant_data"]["x"], x)
    assert "y" not in data["constant_data"]
    stats = data["sample_stats"]
    np.testing.assert_allclose(stats["step_size"], 1e-3)
    np.testing.assert_allclose(stats["weight"], 1e-3)
    assert stats["diverging"].dtype == bool and stats["potential_energy"].shape == (2, 50)
    assert data.attrs["kernel"] == "SGLD"


def test_is_what_the_installed_arviz_uses(finished):
    data = unjudged(finished[0])
    kind = "InferenceData" if az.__version__.startswith("0.") else "DataTree"
    assert type(data).__name__ == kind
    assert "r_hat" in az.summary(data).columns


def test_log_likelihood_is_of_every_row_and_unscaled(finished):
    mcmc, x, y = finished
    data = unjudged(mcmc, log_likelihood=True)

    def whole_model(x, y):
        import numpyro
        import numpyro.distributions as dist

        scale = numpyro.sample("scale", dist.HalfNormal(1.0))
        w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([2]))
        numpyro.sample("y", dist.Normal(x @ w, scale), obs=y)

    draws = mcmc.get_samples()
    expected = numpyro_log_likelihood(whole_model, draws, x, y)["y"]
    computed = np.asarray(data["log_likelihood"]["y"])
    np.testing.assert_allclose(computed.reshape(expected.shape), expected, rtol=2e-4, atol=1e-5)
    assert data["log_likelihood"]["y"].dims == ("chain", "draw", "rows")


def test_row_blocks_join_to_the_whole(finished, monkeypatch):
    mcmc, *_ = finished
    whole_pass = np.asarray(unjudged(mcmc, log_likelihood=True)["log_likelihood"]["y"])
    monkeypatch.setattr(whole, "ROWS", 33)
    monkeypatch.setattr(whole, "DRAWS", 30)
    blocks = np.asarray(unjudged(mcmc, log_likelihood=True)["log_likelihood"]["y"])
    np.testing.assert_allclose(blocks, whole_pass, rtol=1e-6)


def test_long_passes_show_their_progress(finished, monkeypatch, capsys):
    monkeypatch.setattr(whole, "PATIENCE", 0.0)
    unjudged(finished[0], log_likelihood=True)
    assert "whole data" in capsys.readouterr().err


def test_posterior_predictive_simulates_every_row(finished):
    mcmc, x, _ = finished
    data = unjudged(mcmc, posterior_predictive=True)
    simulated = np.asarray(data["posterior_predictive"]["y"])
    assert simulated.shape == (2, 50, 100)
    sites = {n: np.asarray(data["posterior"][n]) for n in ("w", "scale")}
    z = (simulated - sites["w"] @ np.asarray(x).T) / sites["scale"][..., None]
    # 10,000 standard normal residuals: |mean| < 5 / 100 and |var - 1| < 5 sqrt(2) / 100, each with
    # a false-failure rate of 6e-7.
    assert abs(z.mean()) < 5 / 100
    assert abs(z.var() - 1) < 5 * np.sqrt(2) / 100
    assert np.unique(z).size > 9_000


def test_refuses_results_that_are_too_large(finished, monkeypatch):
    monkeypatch.setattr(whole, "MAX_BYTES", 1_000)
    with pytest.raises(
        ValueError,
        match=r"at most .* GiB; 100 draws of these rows .* Take a subset of 2.50% .*draws=.*rows=",
    ):
        unjudged(finished[0], log_likelihood=True)


def test_varying_steps_are_recorded():
    kernel = SGLD(exact_gradients, polynomial(0.02, 5.0, 0.5), num_steps=3)
    data = unjudged(run(kernel, DATA, warmup=10))
    counts = 3 * (10 + np.arange(50))[:, None] + np.arange(3)
    steps = 0.02 * (5.0 + counts) ** -0.5
    np.testing.assert_allclose(data["sample_stats"]["step_size"][0], steps[:, -1], rtol=1e-5)
    np.testing.assert_allclose(data["sample_stats"]["weight"][0], steps.sum(1), rtol=1e-5)


@pytest.mark.long
def test_richardson_romberg_brings_its_other_walkers(tmp_path):
    mcmc = coarse_and_fine()
    data = unjudged(mcmc)
    for group, field in (("posterior_halfway", "z_halfway"), ("posterior_coarse", "z_coarse")):
        unconstrained = mcmc.get_extra_fields(group_by_chain=True)[field]
        np.testing.assert_allclose(data[group]["w"], unconstrained["w"], rtol=1e-6)
        np.testing.assert_allclose(data[group]["scale"], np.exp(unconstrained["scale"]), rtol=1e-5)
    data.to_netcdf(tmp_path / "run.nc")
    loaded = az.from_netcdf(tmp_path / "run.nc")
    second = lambda sites: sites["w"] ** 2  # noqa: E731
    for saved, fresh in zip(expectation(loaded, second), expectation(data, second), strict=True):
        np.testing.assert_allclose(saved, fresh)


def test_divergence_is_reported_once():
    mcmc = run(SGLD(exact_gradients, 5.0), DATA, warmup=0, draws=200)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = unjudged(mcmc)
    (message,) = [str(w.message) for w in caught]
    count = int(np.asarray(data["sample_stats"]["diverging"]).sum())
    assert count > 0 and message.startswith(f"{count} of 400 kept iterations diverged")
    assert "step size is most likely too large" in message
    assert np.all(np.isfinite(data["posterior"]["theta"]))


def test_wrong_objects_are_refused():
    with pytest.raises(TypeError, match=r"Expected a numpyro.infer.MCMC; got int"):
        unjudged(3)
    nuts = MCMC(NUTS(exact_gradients), num_warmup=1, num_samples=1, progress_bar=False)
    with pytest.raises(TypeError, match=r"kernel of numpyro_sgmcmc; got NUTS.*from_numpyro"):
        unjudged(nuts)
    fresh = MCMC(SGLD(exact_gradients, 1e-3), num_warmup=1, num_samples=1, progress_bar=False)
    with pytest.raises(ValueError, match=r"has run; call `mcmc.run"):
        unjudged(fresh)
    x, y = regression_data()
    with pytest.raises(ValueError, match=r"Expected 2 labels for dimension 'column'.*got 3"):
        unjudged(run(SGLD(regression, 1e-4), x, y), coords={"column": ["a", "b", "c"]})


def test_a_point_estimate_gets_no_verdict():
    data = to_inference_data(run(SGLD(exact_gradients, 0.01, temperature=0), DATA))
    assert "verdict" not in data.attrs and data.attrs["temperature"] == 0


def test_model_without_latent_sites():
    import numpyro
    import numpyro.distributions as dist

    def model(x):
        numpyro.sample("x", dist.Normal(0.0, 1.0), obs=x)

    mcmc = run(SGLD(model, 1e-3), DATA)
    assert mcmc.get_samples() == {}
    data = unjudged(mcmc)
    np.testing.assert_array_equal(data["observed_data"]["x"], DATA)
    assert jax.tree.leaves(mcmc.last_state.z) == []
