"""The arguments of `MCMC` work as they do with NUTS."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from tests.contract.problem import (
    NAMES,
    SAMPLES,
    SOME,
    assert_same,
    build,
    data,
    mcmc_of,
    shared,
    vectorised,
)
from tests.marks import briefly
from tests.registry import make

LONG = ["SVRGLD", "SGRRLD", "ReplicaExchange(SGHMCSplit)"]


@pytest.mark.parametrize("name", briefly(NAMES, SOME[:2], LONG))
def test_extra_fields_thinning_and_jit_model_args(name):
    mcmc = mcmc_of(shared(name), thinning=2, jit_model_args=True)
    fields = ("num_diverging", "z.w", "~z.signal")
    mcmc.run(jax.random.key(0), *data(), extra_fields=fields)
    draws, extra = mcmc.get_samples(True), mcmc.get_extra_fields(True)
    assert draws["w"].shape == (2, SAMPLES // 2, 2)
    every_second = jax.tree.map(lambda x: x[:, 1::2], vectorised(name).get_samples(True))
    del every_second["signal"]
    assert_same(draws, every_second)
    assert (extra["num_diverging"] == 0).all()
    np.testing.assert_allclose(extra["z.w"], draws["w"])


NEW_DATA = [*((name, True) for name in SOME), ("SGLDFP", False)]
QUICK_DATA = [*NEW_DATA[:2], NEW_DATA[-1]]


@pytest.mark.parametrize(("name", "jit_model_args"), briefly(NEW_DATA, QUICK_DATA))
def test_new_data_of_the_same_shape(name, jit_model_args):
    # A vectorised MCMC on new data gives what a fresh one gives, and the old draws on the old data.
    mcmc = mcmc_of(build(name), jit_model_args=jit_model_args)
    mcmc.run(jax.random.key(0), *data(1))
    other = mcmc.get_samples()
    mcmc.run(jax.random.key(0), *data())
    assert_same(mcmc.get_samples(), vectorised(name).get_samples())
    assert not np.allclose(other["w"], mcmc.get_samples()["w"])


@pytest.mark.parametrize("name", SOME)
def test_model_without_latent_sites(name):
    def observed_only(y):
        with numpyro.plate("rows", 8, subsample_size=4) as rows:
            numpyro.sample("y", dist.Normal(0.0, 1.0), obs=y[rows])

    mcmc = mcmc_of(make(name, observed_only, anchor={}))
    mcmc.run(jax.random.key(0), jnp.arange(8.0))
    assert mcmc.get_samples() == {}


@pytest.mark.parametrize("chains", [1, 2])
def test_init_params(chains):
    start = {"w": jnp.array([[1.0, -0.4], [0.9, -0.5]]), "sigma": jnp.array([-0.2, -0.1])}
    start = start if chains == 2 else jax.tree.map(lambda x: x[0], start)
    mcmc = mcmc_of(make("SGLD", build("SGLD").model, 1e-9), chains=chains, warmup=0)
    mcmc.run(jax.random.key(0), *data(), init_params=start)
    draws = mcmc.get_samples(group_by_chain=chains == 2)
    axis = 1 if chains == 2 else 0
    np.testing.assert_allclose(draws["w"].take(0, axis), start["w"], atol=1e-3)
    np.testing.assert_allclose(draws["sigma"].take(0, axis), jnp.exp(start["sigma"]), atol=1e-3)


@pytest.mark.parametrize("name", briefly(SOME, SOME[:2]))
def test_num_steps(name):
    # Three steps an iteration pass through the same points, however they are grouped.
    mcmc = mcmc_of(build(name, num_steps=3), warmup=1, num_samples=2)
    mcmc.run(jax.random.key(0), *data())
    expected = vectorised(name).get_samples(True)["w"][:, 2::3]
    np.testing.assert_allclose(mcmc.get_samples(True)["w"], expected, rtol=2e-5)


@pytest.mark.parametrize("name", SOME)
def test_progress_bar_diagnostics(name):
    state = vectorised(name).last_state
    one = jax.tree.map(lambda x: x[0], state)._replace(num_diverging=jnp.int32(3), i=jnp.int32(4))
    assert shared(name).get_diagnostics_str(one) == "step size 1.00e-03, diverged 75.0%"
