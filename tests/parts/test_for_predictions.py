"""Which models are sampled for their predictions, and which for every parameter."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGHMCSplit, diagnose

GROUPS, IN_A_GROUP = 500, 50


def network(x, y):
    def normal(name, *shape):
        return numpyro.sample(name, dist.Normal(0, 1).expand(shape).to_event(len(shape)))

    inner, shift, outer = normal("inner", 3, 8), normal("shift", 8), normal("outer", 8)
    spread = numpyro.sample("spread", dist.HalfNormal(1))
    with numpyro.plate("rows", len(x), subsample_size=200) as rows:
        mean = jnp.tanh(x[rows] @ inner + shift) @ outer
        numpyro.sample("y", dist.Normal(mean, spread), obs=y[rows])


def slopes(x, group, y):
    """Correlated intercepts and slopes, non-centred."""
    mean = numpyro.sample("mean", dist.Normal(0, 2).expand([2]).to_event(1))
    scale = numpyro.sample("scale", dist.HalfNormal(1).expand([2]).to_event(1))
    factor = numpyro.sample("factor", dist.LKJCholesky(2, 2.0))
    spread = numpyro.sample("spread", dist.HalfNormal(1))
    with numpyro.plate("groups", GROUPS):
        shock = numpyro.sample("shock", dist.Normal(0, 1).expand([2]).to_event(1))
    effects = mean + shock @ (scale[:, None] * factor).T
    with numpyro.plate("rows", len(x), subsample_size=500) as rows:
        own = effects[group[rows]]
        numpyro.sample("y", dist.Normal(own[:, 0] + own[:, 1] * x[rows], spread), obs=y[rows])


def warmed(model, *data):
    """Return the run of a model whose warm-up is done, and what the warm-up chose."""
    kernel = SGHMCSplit(model)
    mcmc = MCMC(
        kernel,
        num_warmup=1_000,
        num_samples=500,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.warmup(jax.random.key(0), *map(jnp.asarray, data))
    return mcmc, kernel.adaptation


@pytest.mark.slow
def test_a_network_with_few_weights_is_sampled_for_its_predictions():
    """Settings for every weight left 5 effective draws of 4,000 with a network of 72 weights.

    The function has a standard deviation of 1.2, and the noise around it one of 0.2. Half of the
    noise is the error that is allowed to a network that has found the function.
    """
    rng = np.random.default_rng(7)
    x = rng.normal(size=(5_000, 3)).astype(np.float32)
    mean = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2]
    y = (mean + rng.normal(0, 0.2, len(x))).astype(np.float32)
    mcmc, found = warmed(network, x, y)
    assert found.is_for_predictions
    mcmc.run(jax.random.key(1), jnp.asarray(x), jnp.asarray(y))
    said = diagnose(mcmc)
    assert said.predictions["ess_bulk"].median() > 200
    assert said.predictions["r_hat"].median() < 1.02
    samples = mcmc.get_samples()
    hidden = jnp.tanh(jnp.einsum("ni,sih->snh", x, samples["inner"]) + samples["shift"][:, None])
    fitted = jnp.einsum("snh,sh->sn", hidden, samples["outer"]).mean(0)
    assert float(jnp.sqrt(jnp.mean((fitted - mean) ** 2))) < 0.1


def factorisation(of_film, of_user, rating):
    def entries(name, count):
        return numpyro.sample(name, dist.Normal(0, 1).expand([count, 5]).to_event(2))

    films, users = entries("films", 80), entries("users", 60)
    with numpyro.plate("ratings", len(rating), subsample_size=100) as rows:
        mean = jnp.sum(films[of_film[rows]] * users[of_user[rows]], axis=-1)
        numpyro.sample("rating", dist.Normal(mean, 1.0), obs=rating[rows])


@pytest.mark.slow
def test_no_correction_is_measured_where_the_largest_would_not_do(monkeypatch):
    """With settings for every entry a draw would take 44 transitions, where 16 are allowed."""
    rng = np.random.default_rng(8)
    films, users = rng.normal(size=(80, 5)), rng.normal(size=(60, 5))
    of_film, of_user = (rng.integers(count, size=4_000) for count in (80, 60))
    noise = rng.normal(size=4_000)
    rating = (np.sum(films[of_film] * users[of_user], axis=1) + noise).astype(np.float32)
    where = "numpyro_sgmcmc.preparation.tuning.correctable_share"
    monkeypatch.setattr(where, lambda *_: pytest.fail("was measured"))
    kernel = SGHMCSplit(factorisation, max_num_steps=16)
    kernel.init(jax.random.key(0), 0, None, (of_film, of_user, rating), {})
    assert kernel.adaptation.is_for_predictions


@pytest.mark.slow
def test_correlated_slopes_keep_settings_for_every_parameter():
    """With settings for predictions a mean was 1.6 standard deviations off."""
    rng = np.random.default_rng(7)
    count = GROUPS * IN_A_GROUP
    group, x = rng.integers(0, GROUPS, count), rng.normal(size=count).astype(np.float32)
    effects = [1, 0.5] + rng.normal(size=(GROUPS, 2)) @ np.array([[0.7, 0.2], [0, 0.3]])
    own = effects[group]
    y = (own[:, 0] + own[:, 1] * x + rng.normal(size=count)).astype(np.float32)
    _, found = warmed(slopes, x, group, y)
    assert not found.is_for_predictions


def upper_line(x, y):
    """The 0.9 quantile of a response."""
    shift = numpyro.sample("shift", dist.Normal(0, 2))
    slope = numpyro.sample("slope", dist.Normal(0, 2).expand([x.shape[1]]).to_event(1))
    scale = numpyro.sample("scale", dist.HalfNormal(2))
    with numpyro.plate("rows", len(x), subsample_size=500) as rows:
        likelihood = dist.AsymmetricLaplaceQuantile(shift + x[rows] @ slope, scale, 0.9)
        numpyro.sample("y", likelihood, obs=y[rows])


@pytest.mark.slow
def test_a_dense_map_is_learned_before_parameters_are_given_up():
    """Where a potential has kinks, the first map is far from the posterior.

    Windows ended early with settings for predictions, and a standard deviation was 2.4 times too
    large. Settings for every parameter are quick with the map that longer windows learn.
    """
    rng = np.random.default_rng(7)
    x = rng.normal(size=(5_000, 6)).astype(np.float32)
    y = x @ np.linspace(-1, 1, 6) + (1 + 0.5 * np.abs(x[:, 0])) * rng.standard_t(4, len(x))
    _, found = warmed(upper_line, x, y.astype(np.float32))
    assert not found.is_for_predictions
    assert found.curvature < 10
    assert found.num_steps < 100


def upper_line_and_spread(x, y):
    """The 0.8 quantile of a response whose scale depends on the features."""
    shift = numpyro.sample("shift", dist.Normal(0, 2))
    slope = numpyro.sample("slope", dist.Normal(0, 2).expand([x.shape[1]]).to_event(1))
    level = numpyro.sample("level", dist.Normal(0, 1))
    growth = numpyro.sample("growth", dist.Normal(0, 1).expand([x.shape[1]]).to_event(1))
    with numpyro.plate("rows", len(x), subsample_size=300) as rows:
        centre, scale = shift + x[rows] @ slope, jnp.exp(level + x[rows] @ growth)
        numpyro.sample("y", dist.AsymmetricLaplaceQuantile(centre, scale, 0.8), obs=y[rows])


@pytest.mark.slow
def test_two_directions_that_are_far_too_wide_do_not_stay_so():
    """Two of 12 standard deviations were 80 times too large in the map, and stayed so.

    The curvature in the map's units was 7,000 after all windows, and 4,000 draws were worth 30.
    """
    rng = np.random.default_rng(3)
    x = rng.normal(size=(6_000, 5)).astype(np.float32)
    spread = np.exp(0.4 * x[:, 1]) * rng.standard_t(4, len(x))
    y = x @ np.array([0.4, -0.3, 0.2, 0, 0.1]) + spread
    mcmc, found = warmed(upper_line_and_spread, x, y.astype(np.float32))
    assert not found.is_for_predictions
    assert found.curvature < 10
    mcmc.run(jax.random.key(1), jnp.asarray(x), jnp.asarray(y, jnp.float32))
    assert diagnose(mcmc).sites["ess_bulk"].min() > 400
