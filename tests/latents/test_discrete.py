"""Runs with discrete latents of rows, against sums over their values.

Tolerances are z = 4 standard errors of independent chains: false-failure rate 7.5e-5 a comparison;
keys fixed.
"""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.diagnostics
import pytest
from numpyro.infer import MCMC
from scipy.stats import norm

import numpyro_sgmcmc as sg
from tests.driving.problem import assert_identical
from tests.latents import discrete
from tests.marks import briefly
from tests.oracles.monte_carlo import assert_averages

DATA = jnp.asarray(discrete.Y, jnp.float32)
CHAINS = 500


@pytest.mark.parametrize("move", briefly(["gibbs", discrete.moved], []))
def test_joint_posterior(move):
    """Means of m, m^2 and each c_i, by the model's own density and by an own move."""
    kernel = sg.SGHMCSplit(discrete.shifted, 0.05, friction=3.0, num_steps=20, latent_move=move)
    exact, start = (
        discrete.posterior_of_shifted(),
        jax.random.normal(jax.random.key(2), (CHAINS, 1)),
    )
    start = exact[0] + np.sqrt(exact[1] - exact[0] ** 2) * start
    keys = jax.random.split(jax.random.key(0), CHAINS)
    state = kernel.init(keys, 0, {"m": start}, (DATA,), {})

    @jax.jit
    def run(state):
        def collect(state, _):
            state = kernel.sample(state, (DATA,), {})
            m, c = state.z["m"], state.gradient.discrete[..., 0]
            return state, jnp.concatenate([m, m**2, c.astype(m.dtype)], axis=1)

        return jax.lax.scan(collect, state, None, length=50)[1]

    draws = np.asarray(run(state), np.float64)[20:]
    assert_averages(draws.mean(0), exact)


FEW = DATA[:4]
"""Rows whose 9^4 joint states the exact sums go over."""


def mcmc_of(**options):
    settings = {"num_warmup": 20, "num_samples": 80, "num_chains": 100} | options
    kernel = sg.SGHMCSplit(discrete.classes, 0.05, friction=3.0, num_steps=20, latent_move="gibbs")
    return MCMC(kernel, chain_method="vectorized", progress_bar=False, **settings)


@pytest.fixture(scope="module")
def run():
    mcmc = mcmc_of()
    mcmc.run(jax.random.key(2), FEW)
    return mcmc


@pytest.mark.long
def test_probabilities_of_rows(run):
    """Those of values up to the last, as they sum to one; 100 chains, 16 comparisons."""
    data = sg.to_inference_data(run, verdict=False)["latents"]
    found = data["k"]
    assert found.dims == ("chain", "rows", "sides", "k_value") and found.shape == (100, 4, 2, 3)
    np.testing.assert_allclose(found.sum("k_value"), 1.0, rtol=1e-4)
    assert found["k_value"].values.tolist() == [0, 1, 2] and "k_sd" not in data
    assert 0 < float(data["acceptance"].mean()) < 1
    exact = discrete.probabilities_of_classes(np.asarray(FEW, np.float64))
    by_chain = np.asarray(found, np.float64)[..., :2].reshape(100, -1)
    assert_averages(by_chain, exact[..., :2].reshape(-1))


def test_draws_of_chosen_rows(run):
    """Of two rows, 40 draws of each chain; 8 comparisons."""
    found = sg.local_posterior(run, [3, 1], draws=40)
    assert found["k"].dims == ("chain", "draw", "rows", "sides")
    assert found["k"].shape == (100, 40, 2, 2) and found["k"].dtype == np.int32
    exact = discrete.probabilities_of_classes(np.asarray(FEW, np.float64))[[3, 1]]
    seen = np.asarray(found["k"])[..., None] == np.arange(2)
    assert_averages(seen.mean(1).reshape(100, -1), exact[..., :2].reshape(-1))


def test_log_likelihood_is_given_the_discrete_latents(run):
    data = sg.to_inference_data(run, log_likelihood=True, verdict=False, rows=[2, 0], draws=5)
    k = np.asarray(sg.local_posterior(run, [2, 0], draws=5)["k"])
    m = np.asarray(run.get_samples(True)["m"])[:, data["log_likelihood"]["draw"].values]
    parts = np.take_along_axis(m[:, :, None, :], np.asarray(discrete.CLASSES)[k], axis=3)
    expected = norm.logpdf(np.asarray(FEW)[[2, 0]], parts.sum(-1), 1.0)
    found = np.asarray(data["log_likelihood"]["y"])[..., 0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_probabilities_are_not_asked_of_sums(run):
    with pytest.raises(ValueError, match="are in the group `latents`"):
        sg.class_probabilities(run)


@pytest.mark.long
def test_the_verdict_knows_that_the_moves_forget_where_they_began(run):
    found = sg.diagnose(run)
    assert "forget" not in found.sentence, found.sentence


@pytest.mark.long
def test_a_resumed_folder_gives_the_same_bits(tmp_path):
    short, *both = (mcmc_of(num_warmup=5, num_samples=n, num_chains=2) for n in (15, 30, 30))
    own, driven = both
    own.run(jax.random.key(1), FEW)
    sg.run(short, jax.random.key(1), FEW, folder=tmp_path)
    sg.run(driven, jax.random.key(1), FEW, folder=tmp_path)
    assert_identical(own, driven)


@pytest.mark.slow
def test_the_warm_up_with_both_kinds_of_latents():
    """`SGHMCSplit(model)` as it is. y is a mixture of N(m, 2) and N(m + 2, 2): quadrature over m.

    Mean within 5 standard errors and .05 sd, sd within 5 standard errors and 5 %.
    """
    rng = np.random.default_rng(0)
    shift = discrete.SHIFT * (rng.random(300) < discrete.CHANCE)
    y = (0.5 + shift + np.sqrt(2) * rng.standard_normal(300)).astype(np.float32)
    mcmc = MCMC(
        sg.SGHMCSplit(discrete.both),
        num_warmup=300,
        num_samples=1_000,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(1), y, 50)
    m = np.linspace(-1.0, 2.0, 2_001)
    away = y[:, None] - m
    parts = np.log(0.7) - away**2 / 4, np.log(0.3) - (away - 2) ** 2 / 4
    total = -(m**2) / 8 + np.logaddexp(*parts).sum(0)
    weight = np.exp(total - total.max())
    weight /= weight.sum()
    mean = weight @ m
    sd = np.sqrt(weight @ (m - mean) ** 2)
    draws = np.asarray(mcmc.get_samples(group_by_chain=True)["m"], np.float64)[..., 0]
    found = sg.diagnose(mcmc)
    ess = float(numpyro.diagnostics.effective_sample_size(draws))
    assert abs(draws.mean() - mean) < (5 / np.sqrt(ess) + 0.05) * sd
    assert abs(draws.std() / sd - 1) < 5 / np.sqrt(ess) + 0.05
    assert "Not calibrated" not in found.sentence, found.sentence
