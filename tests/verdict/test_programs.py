"""What a verdict compiles, and the rows of its gradients, after a warm-up."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGHMCSplit, diagnose
from numpyro_sgmcmc.gradient import SVRG, Plain
from numpyro_sgmcmc.preconditioner import Diagonal
from numpyro_sgmcmc.running import run_of
from numpyro_sgmcmc.verdict import gradients as verdict_gradients
from numpyro_sgmcmc.verdict.gradient_noise import noise_of, rows_enough
from numpyro_sgmcmc.verdict.gradients import gradients
from numpyro_sgmcmc.verdict.run import finished_run
from numpyro_sgmcmc.verdict.thresholds import SMALL_NOISE

N, D = 20_000, 4


def regression(x, y):
    slope = numpyro.sample("slope", dist.Normal(0.0, 10.0).expand([D]).to_event(1))
    with numpyro.plate("rows", N, subsample_size=200) as rows:
        numpyro.sample("y", dist.Poisson(jnp.exp(x[rows] @ slope)), obs=y[rows])


@pytest.fixture(scope="module")
def finished():
    rng = np.random.default_rng(0)
    x = 0.5 * rng.normal(size=(N, D))
    y = rng.poisson(np.exp(x.sum(1)))
    mcmc = MCMC(
        SGHMCSplit(regression),
        num_warmup=500,
        num_samples=1_000,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), jnp.asarray(x), jnp.asarray(y))
    programs = mcmc.sampler.memory.target._programs
    before = set(programs)
    said = diagnose(mcmc)
    return mcmc, said, [key for key in programs if key not in before]


def test_a_verdict_compiles_gradients_and_predictions_alone(finished):
    """Noise, Hessian and the gradient at the centre come from programs of the warm-up."""
    _, said, new = finished
    assert said.calibrated
    assert set(new) == {verdict_gradients._controlled, ("functions",)}


def test_rows_that_are_enough_leave_the_share_of_noise_that_they_should(finished):
    run = finished_run(run_of(finished[0]))
    rows = rows_enough(run, noise_of(run, jax.random.key(0)))
    assert 200 <= rows < N / 2
    flat = run.walkers[0].draws.reshape(-1, D)[::4]
    centre = flat.mean(0).astype(np.float32)
    of = partial(gradients, run.target, jax.random.key(1), flat.astype(np.float32), centre)
    noisy, exact = of(len(flat) * (N - 1), rows), of(len(flat) * N)
    error = np.linalg.cholesky(np.cov(flat.T)).T @ (noisy - exact).T
    largest = np.linalg.eigvalsh(np.cov(error))[-1]
    # A sample's largest eigenvalue is at most (1 + sqrt(d / n) + t)^2 of the true one but with
    # probability exp(-n t^2 / 2) = .0006 for n = 1,000 and t = .12. The number of rows comes from a
    # measurement with an error of that size too, hence the square.
    bound = (1 + np.sqrt(D / 1_000) + 0.12) ** 2
    assert 0.25 * SMALL_NOISE < largest < bound**2 * SMALL_NOISE


def test_rows_that_are_enough_do_not_depend_on_the_preconditioner(finished):
    run, key = finished_run(run_of(finished[0])), jax.random.key(0)
    expected = rows_enough(run, noise_of(run, key))
    # The same draws of noise. Scales that differ by 100 leave V an error of 10^4 times rounding.
    scales = Diagonal(np.array([0.1, 1.0, 1.0, 10.0], np.float32))
    plain = run._replace(tuned=run.tuned._replace(preconditioner=scales))
    np.testing.assert_allclose(rows_enough(plain, noise_of(plain, key)), expected, rtol=1e-3)


def test_noise_of_other_estimators_says_nothing_of_rows(finished):
    run = finished_run(run_of(finished[0]))
    noise = noise_of(run, jax.random.key(0))
    assert np.isfinite(rows_enough(run, noise))
    for gradient in (Plain(), SVRG(period=10)):
        assert rows_enough(run._replace(gradient=gradient), noise) == np.inf


def test_noise_that_is_not_finite_says_nothing_of_rows(finished):
    run = finished_run(run_of(finished[0]))
    noise = noise_of(run, jax.random.key(0))
    assert noise is not None
    lost = jax.tree.map(lambda x: x * jnp.nan, noise)
    assert rows_enough(run, lost) == np.inf


def test_draws_in_few_directions_ask_for_rows_without_an_error(finished):
    run = finished_run(run_of(finished[0]))
    noise = noise_of(run, jax.random.key(0))
    (walker,) = run.walkers
    line = walker.draws[..., :1] * np.arange(1.0, 1 + D)  # All coordinates are one.
    narrow = run._replace(walkers=(walker._replace(draws=line),))
    assert rows_enough(narrow, noise) >= 200
