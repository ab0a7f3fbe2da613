"""Verdicts on kernels that balance the noise which all directions share."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGMCLMC, SGNHT, Diagonal, SGHMCSplit, diagnose

ROWS, BATCH, COUNT = 400, 20, 40
H, FRICTION = 0.05, 1.5
"""With V = N / B the noise adds h V / (2 D), a third, to variances that nothing balances."""

SHARED = np.ones(COUNT)
DIFFERING = np.where(np.arange(COUNT) % 2, 1.0, 0.3)


def data(loud):
    """Return rows whose gradients have V = N / B times `loud`^2 in coordinates of variance 1."""
    y = np.random.default_rng(0).normal(size=(ROWS, COUNT))
    y = (y - y.mean(0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(y.T, bias=True))).T
    return jnp.asarray(y * loud, jnp.float32)


def model(y):
    theta = numpyro.sample("theta", dist.Normal(0, 1e3).expand([COUNT]).to_event(1))
    with numpyro.plate("rows", ROWS, subsample_size=BATCH) as rows:
        numpyro.sample("y", dist.Normal(theta, 1.0).to_event(1), obs=y[rows])


def ran(build, loud):
    scale = Diagonal(jnp.full(COUNT, ROWS**-0.5))
    kernel = build(model, H, friction=FRICTION, preconditioner=scale, num_steps=80)
    mcmc = MCMC(
        kernel,
        num_warmup=20,
        num_samples=2_500,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    starts = {"theta": jnp.zeros((4, COUNT))}
    mcmc.run(jax.random.key(0), data(loud), init_params=starts)
    return mcmc


@pytest.mark.long
@pytest.mark.parametrize("build", [SGMCLMC, SGNHT])
def test_shared_noise_leaves_variances_right(build):
    found = diagnose(ran(build, SHARED))
    assert found.calibrated, found.sentence
    assert abs(found.sites.loc["theta", "noise_inflation"]) < 0.01


@pytest.mark.long
def test_without_a_thermostat_the_same_noise_makes_them_too_wide():
    found = diagnose(ran(SGHMCSplit, SHARED))
    assert not found.calibrated
    assert "gradient noise inflates the standard deviation of 'theta' by 16 %" in found.sentence


@pytest.mark.long
@pytest.mark.parametrize("build", [SGMCLMC, SGNHT])
def test_noise_that_differs_is_found(build):
    """Standard deviations 6 % too large in one half, 7 % too small in the other."""
    found = diagnose(ran(build, DIFFERING))
    assert not found.calibrated
    assert abs(found.sites.loc["theta", "sd_error"]) > 0.04
