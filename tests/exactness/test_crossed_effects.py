"""Two crossed factors of 300 effects and their common mean, untuned, against the exact posterior.

Such a model has two difficulties in high dimension: the common mean moves against the means of the
effects, and the noise of all gradients is the same along it.
"""

import arviz
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGHMCSplit
from numpyro_sgmcmc.preconditioner import Coupled

EFFECTS, ROWS, BATCH, SPREAD = 300, 6_000, 300, 0.5
Z = 4.9
"""1,202 comparisons: one false failure in 900 runs, as 1202 P(|x| > z)."""


def model(first, second, y):
    mean = numpyro.sample("mean", dist.Normal(0.0, 10.0))
    with numpyro.plate("firsts", EFFECTS):
        a = numpyro.sample("a", dist.Normal(0.0, SPREAD))
    with numpyro.plate("seconds", EFFECTS):
        b = numpyro.sample("b", dist.Normal(0.0, SPREAD))
    with numpyro.plate("rows", ROWS, subsample_size=BATCH) as i:
        numpyro.sample("y", dist.Normal(mean + a[first[i]] + b[second[i]], 1.0), obs=y[i])


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    first, second = rng.integers(EFFECTS, size=(2, ROWS))
    effects = SPREAD * rng.normal(size=(2, EFFECTS))
    y = 2.0 + effects[0, first] + effects[1, second] + rng.normal(size=ROWS)
    return first, second, y.astype(np.float32)


def exact(first, second, y):
    """The posterior's mean and standard deviations, sites by name: a, b, mean."""
    design = np.zeros((ROWS, 2 * EFFECTS + 1))
    rows = np.arange(ROWS)
    design[rows, first] = design[rows, EFFECTS + second] = design[:, -1] = 1.0
    prior = np.repeat([SPREAD**-2, 0.01], [2 * EFFECTS, 1])
    precision = design.T @ design + np.diag(prior)
    covariance = np.linalg.inv(precision)
    return covariance @ design.T @ y.astype(np.float64), np.sqrt(np.diag(covariance))


@pytest.mark.slow
def test_an_untuned_run_is_right_and_every_draw_counts(data):
    kernel = SGHMCSplit(model)
    mcmc = MCMC(
        kernel,
        num_warmup=500,
        num_samples=500,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), *map(jnp.asarray, data))
    sites = mcmc.get_samples(group_by_chain=True)
    draws = np.concatenate(
        [np.asarray(sites[n]).reshape(4, 500, -1) for n in ("a", "b", "mean")], 2
    )
    centre, sd = exact(*data)
    ess = np.array(
        [[arviz.ess(x, method=m) for x in draws.T.swapaxes(1, 2)] for m in ("mean", "sd")]
    )
    # A draw is worth 0.3 independent ones by choice; the choice has an error of a few tenths.
    assert ess[0].min() > 0.2 * 2_000, f"smallest ESS {ess[0].min():.0f}"
    shift = np.abs(draws.mean((0, 1)) - centre) / sd
    assert (shift < Z / np.sqrt(ess[0])).all()
    error = np.abs(draws.std((0, 1)) / sd - 1)
    assert (error < 0.025 + Z / np.sqrt(2 * ess[1])).all()  # half of the warm-up's tolerance
    assert isinstance(kernel.memory.latest.tuned.preconditioner, Coupled)
    # The noise of one direction does not set the step size of all: before, it was below 0.02.
    assert float(kernel.adaptation.step_size) > 0.1
    assert int(kernel.adaptation.num_steps) < 100
