"""Mixtures of 2 to 5 components against NUTS, which sums out the components on all rows."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.diagnostics import effective_sample_size
from numpyro.infer import MCMC, NUTS, init_to_value

from numpyro_sgmcmc import SGHMCSplit, diagnose
from tests.marks import rarely

ROWS, BATCH = 1_000, 100
Z = 5.0
"""Under a new key P(|z| > 5) = 6e-7 a comparison: with at most 4 (K + K) = 40 of them, 2e-5."""


def mixture(y, components, batch=BATCH):
    weights = numpyro.sample("weights", dist.Dirichlet(2.0 * jnp.ones(components)))
    centres = 4.0 * (jnp.arange(components) - (components - 1) / 2)
    with numpyro.plate("component", components):
        mean = numpyro.sample("mean", dist.Normal(centres, 1.0))
    with numpyro.plate("rows", y.shape[0], subsample_size=batch) as i:
        z = numpyro.sample("z", dist.Categorical(weights), infer={"enumerate": "parallel"})
        numpyro.sample("y", dist.Normal(mean[z], 1.0), obs=y[i])


def make_data(components):
    key_z, key_y = jax.random.split(jax.random.key(components))
    share = jnp.arange(1, components + 1)
    z = jax.random.categorical(key_z, jnp.log(share / share.sum()), shape=(ROWS,))
    centres = 3.5 * (jnp.arange(components) - (components - 1) / 2)
    return centres[z] + jax.random.normal(key_y, (ROWS,)), centres


def draws_of(kernel, key, warmup, samples, *args):
    mcmc = MCMC(
        kernel,
        num_warmup=warmup,
        num_samples=samples,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(key), *args)
    found = mcmc.get_samples(group_by_chain=True)
    flat = np.concatenate([found["mean"], found["weights"]], -1).astype(float)
    return mcmc, flat


@pytest.mark.slow
@pytest.mark.parametrize("components", rarely([2, 3, 4, 5], [5]))
def test_untuned_kernel_agrees_with_nuts(components):
    """Means and standard deviations, and a verdict that is not bad.

    The bias that the warm-up allows, 5 % of a standard deviation, is added to the tolerance.
    """
    y, centres = make_data(components)
    start = init_to_value(values={"mean": centres})
    nuts = draws_of(NUTS(mixture, init_strategy=start), 0, 300, 1_000, y, components, None)[1]
    mcmc, ours = draws_of(SGHMCSplit(mixture, init_strategy=start), 1, 1_000, 3_000, y, components)
    mean, sd = nuts.mean((0, 1)), nuts.std((0, 1))
    error = {}
    for name, draws in (("nuts", nuts), ("ours", ours)):
        squares = (draws - mean) ** 2
        error[name] = (
            1 / np.sqrt(effective_sample_size(draws)),
            squares.std((0, 1)) / (2 * sd**2) / np.sqrt(effective_sample_size(squares)),
        )
    of_mean, of_sd = (np.hypot(a, b) for a, b in zip(error["nuts"], error["ours"], strict=True))
    assert (of_mean < 0.05).all() and (of_sd < 0.05).all()
    shift, ratio = (ours.mean((0, 1)) - mean) / sd, ours.std((0, 1)) / sd - 1
    assert (np.abs(shift) < 0.05 + Z * of_mean).all(), shift / of_mean
    assert (np.abs(ratio) < 0.05 + Z * of_sd).all(), ratio / of_sd
    assert diagnose(mcmc).calibrated
