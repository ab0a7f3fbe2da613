"""`sg.run` makes the draws of `mcmc.run`, to the bit."""

import jax
import numpy as np
import pytest
from numpyro.infer import HMC, NUTS

import numpyro_sgmcmc as sg
from tests.contract.problem import DISTINCT, NAMES, build, data, model, shared
from tests.driving.problem import assert_identical, bits, both, mcmc_of, whole
from tests.marks import rarely

# XLA's older code generation, with which quick tests compile, gives a loop other bits if it is part
# of another program.
pytestmark = pytest.mark.slow

METHODS = ["vectorized", "sequential", "parallel"]
WRAPPED = ["StaleGradient(SGHMCSplit)", "ReplicaExchange(SGHMCSplit)"]


@pytest.mark.parametrize("name", rarely(NAMES, DISTINCT + WRAPPED))
def test_every_kernel(name):
    assert_identical(*both(lambda: shared(name), sg.run, thinning=3, fields=("num_diverging",)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("jit_model_args", [False, True])
def test_chain_methods(method, jit_model_args):
    assert_identical(
        *both(lambda: shared("SGLD"), sg.run, chain_method=method, jit_model_args=jit_model_args)
    )


def test_a_table_over_the_data_that_is_made_on_a_device():
    """NumPyro compiles it together with the loop, which changes the bits of sums."""
    assert_identical(*both(lambda: shared("SAGALD"), sg.run, chain_method="parallel"))


@pytest.mark.parametrize("method", rarely(METHODS, ["vectorized"]))
@pytest.mark.parametrize("kind", rarely([NUTS, HMC], [NUTS]))
def test_kernels_of_numpyro(kind, method):
    assert_identical(*both(lambda: kind(whole), sg.run, chain_method=method, fields=("energy",)))


@pytest.mark.parametrize("fields", [(), ("i", "~z.signal", "z.w")])
def test_one_chain(fields):
    assert_identical(*both(lambda: shared("SGHMC"), sg.run, num_chains=1, fields=fields))


@pytest.mark.release
def test_with_a_warm_up_that_chooses():
    kernels = iter([sg.SGHMCSplit(model), sg.SGHMCSplit(model)])
    assert_identical(*both(lambda: next(kernels), sg.run, num_warmup=100))


def test_going_on_from_a_warm_up():
    own, driven = (mcmc_of(shared("SGHMC")) for _ in range(2))
    for mcmc in (own, driven):
        mcmc.warmup(jax.random.key(0), *data())
    before = bits(driven.post_warmup_state)
    own.run(jax.random.key(3), *data())
    sg.run(driven, jax.random.key(3), *data())
    assert_identical(own, driven)
    assert bits(driven.post_warmup_state) == before


def test_init_params():
    start = {"w": np.array([[1.0, -0.4], [0.9, -0.5]]), "sigma": np.array([-0.2, -0.1])}
    start = jax.tree.map(lambda x: x.astype(np.float32), start)
    own, driven = (mcmc_of(shared("SGLD")) for _ in range(2))
    own.run(jax.random.key(0), *data(), init_params=start)
    sg.run(driven, jax.random.key(0), *data(), init_params=start)
    assert_identical(own, driven)


def test_the_draws_of_the_warm_up():
    own, driven = (mcmc_of(shared("SGHMC"), thinning=3) for _ in range(2))
    own.warmup(jax.random.key(0), *data(), collect_warmup=True)
    sg.run(driven, jax.random.key(0), *data(), collect_warmup=True)
    found = sg.to_inference_data(driven, verdict=False)
    expected = own.get_samples(True)
    assert found["warmup_posterior"]["w"].shape[:2] == (2, 3)
    np.testing.assert_array_equal(found["warmup_posterior"]["w"], expected["w"])
    plain = mcmc_of(shared("SGHMC"), thinning=3)
    plain.run(jax.random.key(0), *data())
    assert_identical(plain, driven)


def test_a_model_without_latent_sites():
    def observed_only(y):
        import numpyro
        import numpyro.distributions as dist

        with numpyro.plate("rows", 8, subsample_size=4) as rows:
            numpyro.sample("y", dist.Normal(0.0, 1.0), obs=y[rows])

    mcmc = mcmc_of(sg.SGLD(observed_only, 1e-3))
    sg.run(mcmc, jax.random.key(0), np.arange(8, dtype=np.float32))
    assert mcmc.get_samples() == {}


def test_calls_of_any_length_give_the_same_draws(monkeypatch):
    own = mcmc_of(shared("SGLD"), thinning=2)
    own.run(jax.random.key(1), *data())
    monkeypatch.setattr("numpyro_sgmcmc.driving.loop.TARGET", 1e-9)
    monkeypatch.setattr("numpyro_sgmcmc.driving.program.MOST_DRAWS", 1)
    driven = mcmc_of(build("SGLD"), thinning=2)
    sg.run(driven, jax.random.key(1), *data())
    assert_identical(own, driven)
