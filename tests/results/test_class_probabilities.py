"""Posterior probabilities of states, and results of models with discrete latent sites."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from jax.nn import softmax

from numpyro_sgmcmc import (
    SAGALD,
    SGLD,
    SGLDFP,
    SGHMCSplit,
    class_probabilities,
    polynomial,
    summary,
    to_inference_data,
)
from tests.inputs.problem import X
from tests.inputs.problem import Y as ROWS
from tests.inputs.problem import model as regression
from tests.marks import rarely
from tests.models.agreement import run

KEYS = jax.random.split(jax.random.key(4), 2)
COMPONENT = jax.random.bernoulli(KEYS[0], 0.3, (40,)).astype(int)
Y = jnp.array([-1.0, 1.0])[COMPONENT] + 0.7 * jax.random.normal(KEYS[1], (40,))


def mixture(y, batch=8):
    weight = numpyro.sample("weight", dist.Beta(2.0, 2.0))
    mean = numpyro.sample("mean", dist.Normal(jnp.array([-1.0, 1.0]), 0.5).to_event(1))
    with numpyro.plate("rows", y.shape[0], subsample_size=batch) as i:
        z = numpyro.sample("z", dist.Bernoulli(weight))
        numpyro.deterministic("level", mean[z])
        numpyro.sample("y", dist.Normal(mean[z], 0.7), obs=y[i])
    numpyro.deterministic("gap", mean[1] - mean[0])


def by_hand(draws, weights):
    """Return the mean over the draws of p(z | y, draw)."""
    prior = jnp.log(jnp.stack([1 - draws["weight"], draws["weight"]], -1))
    density = dist.Normal(draws["mean"], 0.7).log_prob(Y[:, None, None])
    each = softmax(prior + density, axis=-1)
    return np.einsum("nds,d->ns", np.asarray(each, float), weights / weights.sum())


@pytest.fixture(scope="module")
def finished():
    with pytest.warns(UserWarning, match="'level' depend on the minibatch .*discrete latent"):
        return run(SGLD(mixture, polynomial(0.01, 1.0, 0.33)), Y, chains=2, draws=20)


def test_probabilities_by_hand(finished):
    """Draws count by their weights: step sizes decrease."""
    weights = np.asarray(finished.get_extra_fields()["weight"], float)
    assert np.ptp(weights) > 0
    expected = by_hand(finished.get_samples(), weights)
    found = class_probabilities(finished)
    assert found.dims == ("rows", "state") and found.name == "z"
    assert found.coords["state"].values.tolist() == [0, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    some = class_probabilities(finished, "z", rows=[3, 1])
    assert some.coords["rows"].values.tolist() == [3, 1]
    np.testing.assert_allclose(some, expected[[3, 1]], rtol=1e-4, atol=1e-6)
    assert class_probabilities(finished, rows=5, draws=4).shape == (5, 2)


def test_unknown_sites_are_refused(finished):
    with pytest.raises(ValueError, match=r"got 'mean'. Choose one of \['z'\]"):
        class_probabilities(finished, "mean")
    with pytest.raises(ValueError, match=r"Expected at most 40 `rows`"):
        class_probabilities(finished, rows=41)
    other = run(SGLD(regression, 1e-3), X, ROWS, draws=3)
    with pytest.raises(ValueError, match="a model with a discrete latent site; got one without"):
        class_probabilities(other)


def test_groups(finished):
    """The discrete site is in no draw; densities are of mixtures; predictions have all rows."""
    data = to_inference_data(
        finished, log_likelihood=True, posterior_predictive=True, verdict=False
    )
    assert set(data["posterior"].data_vars) == {"weight", "mean", "gap"}
    draws = {name: np.asarray(value) for name, value in data["posterior"].items()}
    mixed = dist.MixtureSameFamily(
        dist.Categorical(jnp.stack([1 - draws["weight"], draws["weight"]], -1)[:, :, None]),
        dist.Normal(jnp.asarray(draws["mean"])[:, :, None], 0.7),
    )
    found = data["log_likelihood"]["y"]
    assert found.dims == ("chain", "draw", "rows")
    np.testing.assert_allclose(found, mixed.log_prob(Y), rtol=1e-4, atol=1e-5)
    simulated = np.asarray(data["posterior_predictive"]["y"])
    assert simulated.shape == (2, 20, 40)
    # 1,600 values of standard deviation near 1.2: 4 standard errors, false failure 6e-5.
    expected = (draws["weight"] * draws["mean"][..., 1]).mean()
    expected += ((1 - draws["weight"]) * draws["mean"][..., 0]).mean()
    spread = simulated.std(axis=2).mean()
    assert abs(simulated.mean() - expected) < 4 * 1.5 * spread / np.sqrt(simulated.size)


def outside(y):
    mean = numpyro.sample("mean", dist.Normal(0.0, 1.0))
    z = numpyro.sample("z", dist.Bernoulli(0.5))
    with numpyro.plate("rows", y.shape[0]):
        numpyro.sample("y", dist.Normal(mean + z, 1.0), obs=y)


def test_a_site_outside_all_plates():
    """Its probabilities are exact; predictions would ignore the data, so they are refused."""
    mcmc = run(SGLD(outside, 1e-3), Y, draws=5)
    found = class_probabilities(mcmc)
    assert found.dims == ("state",)
    mean = jnp.asarray(mcmc.get_samples()["mean"])[:, None] + jnp.arange(2.0)
    expected = softmax(dist.Normal(mean, 1.0).log_prob(Y[:, None, None]).sum(0), axis=-1).mean(0)
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    data = to_inference_data(mcmc, log_likelihood=True, verdict=False)
    assert data["log_likelihood"]["y"].dims == ("chain", "draw")
    with pytest.raises(ValueError, match="observations of 'y' that depend on one outside"):
        to_inference_data(mcmc, posterior_predictive=True, verdict=False)


@pytest.mark.parametrize("kernel", rarely([SGLDFP, SAGALD, SGHMCSplit], among=(SGHMCSplit,)))
@pytest.mark.long
def test_untuned(kernel):
    """Anchors, tables of rows, the warm-up and the verdict see a density like any other."""
    with pytest.warns(UserWarning, match="discrete latent"):
        mcmc = run(kernel(mixture), Y, chains=2, warmup=300, draws=500)
    data = to_inference_data(mcmc, verdict=False)
    table = summary(data)
    assert set(table.index) >= {"weight", "gap"}
    found = class_probabilities(mcmc).values
    np.testing.assert_allclose(found.sum(-1), 1.0, rtol=1e-5)
    assert (found[np.asarray(COMPONENT) == 1, 1]).mean() > found[:, 1].mean()
