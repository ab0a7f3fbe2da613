"""What a draw costs, as far as a verdict and its advice depend on it."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGLD
from numpyro_sgmcmc.running import run_of
from numpyro_sgmcmc.verdict.run import finished_run


def model(y):
    mean = numpyro.sample("mean", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", y.size, subsample_size=10) as rows:
        numpyro.sample("y", dist.Normal(mean, 1.0), obs=y[rows])


def test_a_draw_of_a_thinned_run_takes_all_transitions_since_the_last():
    kernel = SGLD(model, 1e-3, num_steps=3)
    mcmc = MCMC(kernel, num_warmup=0, num_samples=20, thinning=5, progress_bar=False)
    mcmc.run(jax.random.key(0), jnp.zeros(100))
    run = finished_run(run_of(mcmc))
    assert run.weights.size == 4
    assert run.rows_of_draw == 10 * 3 * 5
