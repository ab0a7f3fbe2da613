"""More than 300 shared parameters with latents of rows, and nothing chosen by hand.

False-failure rate 6e-5 a comparison (z = 4); keys fixed.
"""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

import numpyro_sgmcmc as sg
from numpyro_sgmcmc.latents import LatentTable
from numpyro_sgmcmc.preparation.kinks import Typical
from numpyro_sgmcmc.preparation.latents import relax
from numpyro_sgmcmc.preparation.latents.choosing import Given, chosen_from
from numpyro_sgmcmc.preparation.limits import limits_of
from numpyro_sgmcmc.preparation.noise import silence
from tests.latents.wide import DIMENSION, Y, stationary, wide

OPTIONS = {"num_chains": 4, "chain_method": "vectorized", "progress_bar": False}
DATA = jnp.asarray(Y, jnp.float32)


def counts(x, y, batch):
    level = numpyro.sample("level", dist.Normal(0, 2))
    slopes = numpyro.sample("slopes", dist.Normal(0, 1).expand([x.shape[1]]).to_event(1))
    spread = numpyro.sample("spread", dist.HalfNormal(1))
    with numpyro.plate("rows", len(y), subsample_size=batch) as i:
        a = numpyro.sample("a", dist.Normal(0, 1))
        numpyro.sample("y", dist.Poisson(jnp.exp(level + x[i] @ slopes + spread * a)), obs=y[i])


def simulated(rows=600, columns=320):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(rows, columns)) * 2 / columns**0.5
    rates = np.exp(1 + x @ rng.normal(0, 0.5, columns) + 0.5 * rng.normal(size=rows))
    return jnp.asarray(x, jnp.float32), jnp.asarray(rng.poisson(rates))


@pytest.mark.slow
def test_a_gaussian_model_has_its_exact_posterior():
    """One parameter has data; the others keep their prior, a standard normal distribution."""
    mcmc = MCMC(sg.SGHMCSplit(wide), num_warmup=500, num_samples=1_000, **OPTIONS)
    mcmc.run(jax.random.key(0), DATA, 1)
    adaptation = mcmc.sampler.adaptation
    assert isinstance(adaptation.gradient, LatentTable)
    # A sixth of the information on a latent comes from its row.
    assert adaptation.centring is not None
    np.testing.assert_allclose(adaptation.centring["a"], 1 / 6, rtol=1e-3)
    verdict = sg.diagnose(mcmc)
    assert verdict.calibrated, verdict.sentence
    exact = stationary(1e-6, 0.5)
    theta = np.asarray(mcmc.get_samples()["theta"], np.float64)
    size = verdict.sites.loc["theta", "ess_bulk"]
    centre = np.zeros(DIMENSION)
    centre[0] = exact.mean
    scale = np.ones(DIMENSION)
    scale[0] = exact.variance**0.5
    away = (theta.mean(0) - centre) / scale
    # The largest of 301 is judged: 5.2 standard errors are exceeded with probability 6e-5.
    assert np.all(np.abs(away) < 5.2 / size**0.5)
    ratio = theta.var(0) / scale**2
    # Half of the tolerance of a variance is left to gradient noise, and half to the step size.
    assert np.all(np.abs(ratio - 1) < 0.1 + 5.2 * (2 / size) ** 0.5)


@pytest.mark.release
def test_walkers_that_diverge_start_anew(monkeypatch):
    """With its curvature's step size the noise of the table grows from step to step."""
    monkeypatch.setattr(relax, "FIRST", 100.0)
    x, y = simulated()
    mcmc = MCMC(sg.SGHMCSplit(counts), num_warmup=50, num_samples=10, **OPTIONS)
    mcmc.warmup(jax.random.key(0), x, y, 60)
    found = mcmc.sampler.adaptation
    assert 1e-3 < float(found.step_size) < 0.2
    slopes = np.asarray(mcmc.last_state.z["slopes"])
    assert np.all(np.isfinite(slopes)) and np.abs(slopes).max() < 5
    monkeypatch.setattr(relax, "TRIES", relax.ROUNDS)  # So that no window may be lost.
    again = MCMC(sg.SGHMCSplit(counts), num_warmup=50, num_samples=10, **OPTIONS)
    with pytest.raises(ValueError, match=r"got ones that diverge.*Pass `init_params`"):
        again.warmup(jax.random.key(0), x, y, 60)


@pytest.mark.parametrize("power", [1, 2, 4])
def test_step_sizes_approach_what_noise_that_grows_with_them_allows(power):
    """From ten times too much and from ten times too little, where V = c h^power."""
    nothing, dimension = jnp.zeros(()), 2
    curvature = Typical(jnp.ones(()), jnp.ones(()), nothing)
    given = Given(LatentTable(), sg.Identity(), curvature, silence(nothing, dimension))
    options = SimpleNamespace(dynamics=sg.SGHMCSplit(wide).options.dynamics)
    limits = limits_of(options.dynamics, curvature, nothing, dimension, 1.0)
    allowed = 0.05
    heat = float(chosen_from(options, given, noisy(1.0), limits, 1.0, None).step_size)

    def after(step_size):
        noise = noisy(heat / allowed * (step_size / allowed) ** power)
        return chosen_from(options, given, noise, limits, 1.0, jnp.asarray(step_size))

    for start in (0.5, 0.005):
        step_size = start
        for _ in range(6):
            step_size = float(after(step_size).step_size)
        assert abs(np.log(step_size / allowed)) < 0.3 * abs(np.log(start / allowed))
        assert step_size < 1.05 * allowed or start > allowed


def noisy(variance):
    found = silence(jnp.zeros(()), 2)
    return found._replace(largest=jnp.asarray(variance, jnp.float32))
