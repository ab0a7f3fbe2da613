"""What is said and drawn of runs whose numbers overflow: no warning of NumPy's, and no failure."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import (
    SGLD,
    SGMCLMC,
    SGNHT,
    SGHMCSplit,
    diagnose,
    plot_kinetic_temperature,
    report,
    to_inference_data,
)
from tests.marks import briefly

STILL = "2 of 2 chains did not move at all"
CASES = {
    "momentum overflows": (SGHMCSplit, 0.0115, "diverged"),
    "draws are huge": (SGHMCSplit, 0.05, "diverged"),
    "positions overflow": (SGLD, 0.1, "diverged"),
    "thermostat stops": (SGNHT, 0.0085, STILL),
    "noise is huge": (SGMCLMC, 0.003, "Not known yet"),
}


def rows(x):
    """A latent of each row."""
    centre = numpyro.sample("mu", dist.Normal(0, 3))
    scale = numpyro.sample("scale", dist.HalfNormal(1))
    with numpyro.plate("rows", len(x), subsample_size=50):
        y = numpyro.subsample(x, 0)
        latent = numpyro.sample("latent", dist.Normal(centre, scale))
        numpyro.sample("y", dist.Poisson(jnp.exp(latent)), obs=jnp.abs(y).round())


def model(x):
    """A posterior that is stiff in one direction only, along which a run diverges."""
    mu = numpyro.sample("mu", dist.Normal(0, 10).expand([3]).to_event(1))
    with numpyro.plate("rows", len(x), subsample_size=20):
        y = numpyro.subsample(x, 0)
        numpyro.sample("y", dist.Normal(mu.sum(), 0.01), obs=y)


def ran(kernel):
    mcmc = MCMC(
        kernel,
        num_warmup=5,
        num_samples=100,
        num_chains=2,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), jnp.asarray(np.random.default_rng(0).normal(1.0, 1.0, 200)))
    return mcmc


@pytest.mark.parametrize("case", briefly(list(CASES), ["momentum overflows", "thermostat stops"]))
@pytest.mark.filterwarnings("ignore:Not calibrated:UserWarning")
@pytest.mark.filterwarnings("ignore:Not known yet:UserWarning")
@pytest.mark.filterwarnings("ignore:Your data appears to have a single value:UserWarning")  # ArviZ
def test_a_diverged_run_is_judged_and_drawn(case, tmp_path):
    build, step_size, said = CASES[case]
    options = {} if build is SGLD else {"friction": 1.0}
    mcmc = ran(build(model, step_size, num_steps=10, **options))
    found = diagnose(mcmc)
    assert not found.calibrated
    assert said in found.sentence
    data = to_inference_data(mcmc)
    if "kinetic_temperature" in data["sample_stats"]:
        plot_kinetic_temperature(data).figure.canvas.draw()
    assert said in report(data, tmp_path / "report.html").read_text()


@pytest.mark.long
@pytest.mark.parametrize("build, step_size", [(SGMCLMC, 0.3), (SGMCLMC, 30.0), (SGNHT, 0.3)])
def test_chains_that_stop_beside_latents_of_rows_are_judged(build, step_size):
    found = diagnose(ran(build(rows, step_size, friction=1.0, num_steps=5)))
    assert not found.calibrated
