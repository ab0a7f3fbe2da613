"""Keys and wall time in the attributes: what it takes to make the same draws again."""

from itertools import count

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGRRLD, SGHMCSplit
from numpyro_sgmcmc.kernels import protocol
from numpyro_sgmcmc.running import mcmc as running
from tests.marks import briefly
from tests.results.gaussian import DATA, exact_gradients, subsampled, unjudged

KERNELS = {
    "SGHMCSplit": lambda: SGHMCSplit(subsampled, 0.05, friction=3.0),
    "SGRRLD": lambda: SGRRLD(subsampled, 0.01),
}


def mcmc_of(name="SGHMCSplit", chains=2, method="vectorized"):
    return MCMC(
        KERNELS[name](),
        num_warmup=3,
        num_samples=5,
        num_chains=chains,
        chain_method=method,
        progress_bar=False,
    )


def keys_in(found, name="key"):
    """Return the keys as the docstring of `to_inference_data` says."""
    words = jnp.asarray(found[name], jnp.uint32).reshape(found["num_chains"], -1)
    keys = jax.random.wrap_key_data(words, impl=found["key_implementation"])
    return keys if len(keys) > 1 else keys[0]


def draws_of(mcmc):
    return np.asarray(mcmc.get_samples(group_by_chain=True)["theta"])


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("SGHMCSplit", "vectorized"),
        pytest.param("SGHMCSplit", "sequential", marks=pytest.mark.release),
        pytest.param("SGHMCSplit", "parallel", marks=pytest.mark.long),
        pytest.param("SGRRLD", "vectorized", marks=pytest.mark.release),
        pytest.param("SGRRLD", "sequential", marks=pytest.mark.long),
        pytest.param("SGRRLD", "parallel", marks=pytest.mark.release),
    ],
)
def test_the_key_gives_the_same_draws_again(name, method):
    first, second = mcmc_of(name, method=method), mcmc_of(name, method=method)
    first.run(jax.random.key(7), DATA)
    found = unjudged(first).attrs
    assert found["key"] == jax.random.key_data(jax.random.split(jax.random.key(7))).ravel().tolist()
    assert "continued_key" not in found and all(type(word) is int for word in found["key"])
    second.run(keys_in(found), DATA)
    np.testing.assert_array_equal(draws_of(second), draws_of(first))


@pytest.mark.parametrize(
    "key",
    [pytest.param(jax.random.PRNGKey(5), marks=pytest.mark.long), jax.random.key(5, impl="rbg")],
)
def test_one_chain_and_other_kinds_of_key(key):
    first, second = mcmc_of(chains=1), mcmc_of(chains=1)
    first.run(key, DATA)
    found = unjudged(first).attrs
    assert found["key"] == jax.random.key_data(key).tolist()
    second.run(keys_in(found), DATA)
    np.testing.assert_array_equal(draws_of(second), draws_of(first))


@pytest.mark.long
@pytest.mark.parametrize("name", briefly(KERNELS, ["SGHMCSplit"]))
def test_a_new_key_after_the_warm_up_is_kept_too(name):
    first, second = mcmc_of(name), mcmc_of(name)
    first.warmup(jax.random.key(0), DATA)
    first.run(jax.random.key(1), DATA)
    found = unjudged(first).attrs
    assert found["continued_at"] == first.num_warmup and "times_continued" not in found
    second.warmup(keys_in(found), DATA)
    second.run(keys_in(found, "continued_key"), DATA)
    np.testing.assert_array_equal(draws_of(second), draws_of(first))


@pytest.mark.parametrize(
    "method", briefly(["vectorized", "sequential", "parallel"], ["vectorized"])
)
def test_going_on_with_the_own_key_is_no_new_key(method):
    mcmc = mcmc_of(method=method)
    mcmc.run(jax.random.key(0), DATA)
    key = unjudged(mcmc).attrs["key"]
    mcmc.post_warmup_state = mcmc.last_state
    mcmc.run(mcmc.last_state.rng_key, DATA)
    found = unjudged(mcmc).attrs
    assert found["key"] == key and "continued_key" not in found
    for times, seed in enumerate((1, 2), 1):
        mcmc.post_warmup_state = mcmc.last_state
        mcmc.run(jax.random.key(seed), DATA)
        found = unjudged(mcmc).attrs
        expected = jax.random.key_data(jax.random.split(jax.random.key(seed)))
        assert found["key"] == key and found["continued_key"] == expected.ravel().tolist()
        assert found["continued_at"] == 8 + 5 * times
    assert found["times_continued"] == 2


def test_a_key_of_another_kind_that_has_no_place_is_left_out():
    mcmc = mcmc_of()
    mcmc.warmup(jax.random.key(0), DATA)
    mcmc.run(jax.random.key(1, impl="rbg"), DATA)
    assert "key" not in unjudged(mcmc).attrs


@pytest.mark.parametrize(
    ("method", "calls"), briefly([("vectorized", 1), ("sequential", 2)], [("vectorized", 1)])
)
def test_wall_time_is_counted_from_the_first_chain_of_the_last_start(method, calls, monkeypatch):
    clock = count()
    monkeypatch.setattr(protocol, "perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr(running, "perf_counter", lambda: 100.0)
    mcmc = mcmc_of(method=method)
    for _ in range(2):
        mcmc.run(jax.random.key(0), DATA)
    assert unjudged(mcmc).attrs["wall_time"] == 100.0 - calls
    mcmc.post_warmup_state = mcmc.last_state
    mcmc.run(mcmc.last_state.rng_key, DATA)
    assert unjudged(mcmc).attrs["wall_time"] == 100.0 - calls


def test_wall_time_with_chains_in_parallel(monkeypatch):
    monkeypatch.setattr(protocol, "perf_counter", lambda: 1.0)
    monkeypatch.setattr(running, "perf_counter", lambda: 3.5)
    mcmc = MCMC(
        SGHMCSplit(exact_gradients, 0.05, friction=3.0),
        num_warmup=0,
        num_samples=2,
        num_chains=2,
        chain_method="parallel",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), DATA)
    assert unjudged(mcmc).attrs["wall_time"] == 2.5
