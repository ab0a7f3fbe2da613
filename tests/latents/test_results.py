"""Results of a run with latents of rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer import MCMC
from scipy.stats import norm

import numpyro_sgmcmc as sg
from numpyro_sgmcmc.results import local_draws, whole
from tests.contract.problem import assert_same
from tests.driving.problem import assert_identical
from tests.latents.problem import ERROR, Y, binomial, gaussian, posterior

DATA = jnp.asarray(Y, jnp.float32)


def mcmc_of(**options):
    settings = {"num_warmup": 100, "num_samples": 2_000, "num_chains": 4} | options
    kernel = sg.SGHMCSplit(gaussian, 0.1, friction=3.0, num_steps=40)
    return MCMC(kernel, chain_method="vectorized", progress_bar=False, **settings)


@pytest.fixture(scope="module")
def run():
    mcmc = mcmc_of()
    mcmc.run(jax.random.key(2), DATA)
    return mcmc


def test_moments_of_rows(run):
    """8,000 draws, each worth about one; 5 standard errors: false-failure rate 6e-7 a number."""
    exact, data = posterior(), sg.to_inference_data(run, verdict=False)
    latents = data["latents"]
    assert latents["a"].dims == latents["a_sd"].dims == ("chain", "rows")
    assert latents["acceptance"].dims == ("chain",) and (latents["acceptance"] > 0.5).all()
    # A row is visited 13 times in a draw; neighbouring visits depend on each other.
    visits = np.asarray(latents["visits"])
    assert (np.abs(visits - 80_000 / 3 * 11 / 12) < 4_000).all()
    sd = np.sqrt(np.diag(exact.covariance)[1:])
    error = 5 * sd / np.sqrt(4_000)
    assert (np.abs(latents["a"].mean("chain") - exact.mean[1:]) < error).all()
    assert (np.abs(latents["a_sd"].mean("chain") - sd) < error).all()


def test_draws_of_chosen_rows(run):
    """1,600 draws, of which a quarter count at least; 5 standard errors."""
    exact = posterior()
    found = sg.local_posterior(run, [4, 1], draws=400)
    assert found["a"].dims == ("chain", "draw", "rows") and found["a"].shape == (4, 400, 2)
    assert found["rows"].values.tolist() == [4, 1]
    places = np.array([5, 2])
    error = 5 * np.sqrt(np.diag(exact.covariance)[places] / 400)
    mean = np.asarray(found["a"].mean(["chain", "draw"]))
    assert (np.abs(mean - exact.mean[places]) < error).all()
    # With the shared parameters of the same draws they have the joint covariance.
    theta = np.asarray(run.get_samples(True)["theta"])[:, found["draw"].values, 0]
    joint = np.cov(np.stack([theta.ravel(), np.asarray(found["a"])[..., 0].ravel()]))
    wanted = exact.covariance[np.ix_([0, 5], [0, 5])]
    scale = np.sqrt(np.outer(np.diag(wanted), np.diag(wanted)))
    assert (np.abs(joint - wanted) < 5 * np.sqrt(2 / 400) * scale).all()


def test_same_rows_each_time_and_all_rows(run):
    one, two = (sg.local_posterior(run, 3, draws=2) for _ in range(2))
    assert one.equals(two) and one.sizes["rows"] == 3
    assert sg.local_posterior(run, None, draws=2).sizes["rows"] == len(Y)


def test_log_likelihood_is_given_the_latents_of_the_row(run, monkeypatch):
    """Blocks of two rows join to the whole; the latents are those of `local_posterior`."""
    monkeypatch.setattr(local_draws, "ROWS", 2)
    monkeypatch.setattr(whole, "ROWS", 2)
    options = {"rows": [4, 1, 0], "draws": 6}
    data = sg.to_inference_data(run, log_likelihood=True, verdict=False, **options)
    found, latents = data["log_likelihood"]["y"], sg.local_posterior(run, [4, 1, 0], draws=6)["a"]
    assert found.dims == latents.dims and found["rows"].values.tolist() == [4, 1, 0]
    expected = norm.logpdf(Y[[4, 1, 0]], latents, ERROR)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_predictions_are_of_the_same_rows(run):
    """y* given a_i: its mean and variance over 1,600 draws, of which a quarter count at least."""
    exact = posterior()
    data = sg.to_inference_data(run, posterior_predictive=True, verdict=False, draws=400)
    found = np.asarray(data["posterior_predictive"]["y"]).reshape(-1, len(Y))
    variance = np.diag(exact.covariance)[1:] + ERROR**2
    assert (np.abs(found.mean(0) - exact.mean[1:]) < 5 * np.sqrt(variance / 400)).all()
    assert (np.abs(found.var(0) / variance - 1) < 5 * np.sqrt(2 / 400)).all()


def test_more_than_fits_is_refused(run, monkeypatch):
    monkeypatch.setattr(whole, "MAX_BYTES", 1_000)
    with pytest.raises(ValueError, match=r"Expected a result of at most .* draws=\.\.\."):
        sg.to_inference_data(run, log_likelihood=True, verdict=False)


def test_rows_that_there_are_not(run):
    with pytest.raises(ValueError, match="Expected `rows` between 0 and 5"):
        sg.local_posterior(run, [6])


def test_a_model_without_latents_of_rows(run):
    mcmc = MCMC(sg.SGLD(binomial, 1e-4), num_warmup=1, num_samples=2, progress_bar=False)
    mcmc.run(jax.random.key(0), jnp.array([1, 2, 3]))
    with pytest.raises(ValueError, match="Expected a model with latent sites in a subsampled"):
        sg.local_posterior(mcmc, [0])


@pytest.mark.long
def test_the_driver_and_a_resumed_folder_give_the_same_bits(tmp_path):
    short, *both = (mcmc_of(num_warmup=5, num_samples=n, num_chains=2) for n in (15, 30, 30))
    own, driven = both
    own.run(jax.random.key(1), DATA)
    sg.run(short, jax.random.key(1), DATA, folder=tmp_path)
    sg.run(driven, jax.random.key(1), DATA, folder=tmp_path)
    assert_identical(own, driven)


def test_rows_in_a_file_and_their_latents_in_memory(tmp_path):
    """Draws, latents and what is made of them are those from rows in memory."""
    np.save(tmp_path / "y.npy", np.asarray(DATA))
    found = []
    for data in (np.asarray(DATA), np.load(tmp_path / "y.npy", mmap_mode="r")):
        mcmc = mcmc_of(num_warmup=5, num_samples=20, num_chains=2)
        sg.run(mcmc, jax.random.key(0), data, folder=tmp_path / type(data).__name__)
        groups = {"log_likelihood": True, "posterior_predictive": True, "draws": 5}
        given = sg.to_inference_data(mcmc, verdict=False, **groups)
        names = "posterior", "latents", "log_likelihood", "posterior_predictive"
        values = {name: {k: np.asarray(v) for k, v in given[name].items()} for name in names}
        rows = sg.local_posterior(mcmc, [4, 1], draws=3)
        found.append((values, np.asarray(rows["a"])))
    assert_same(found[1], found[0])


@pytest.mark.long
def test_other_data_are_refused(run):
    """By the kernel of the run in words, and by another kernel with draws that are no numbers."""
    run.post_warmup_state = run.last_state
    with pytest.raises(ValueError, match="Start a new run"):
        run.run(jax.random.key(1), DATA[:5])
    run.post_warmup_state = None
    other = mcmc_of(num_samples=3)
    other.post_warmup_state = run.last_state
    other.run(jax.random.key(1), DATA[:5])
    assert np.asarray(other.get_extra_fields()["diverging"]).all()
    assert np.isnan(np.asarray(other.get_samples()["theta"])).all()
