"""A second run on data of the same shape: nothing is compiled again, and nothing is mixed up."""

import gc
import logging
import pickle
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGLD, SGHMCSplit

ROWS = 60


def model(y, prior=2.0):
    theta = numpyro.sample("theta", dist.Normal(0.0, prior))
    with numpyro.plate("rows", ROWS, subsample_size=10) as rows:
        numpyro.sample("y", dist.Normal(theta, 1.0), obs=y[rows])


def data(seed):
    return jnp.asarray(np.random.default_rng(seed).normal(seed, 1.0, ROWS), jnp.float32)


def draws(mcmc, *args):
    mcmc.run(jax.random.key(3), *args)
    return np.asarray(mcmc.get_samples()["theta"])


def mcmc_of(kernel):
    return MCMC(kernel, num_warmup=50, num_samples=20, jit_model_args=True)


@pytest.mark.parametrize(
    "build",
    [
        lambda: SGLD(model, 1e-3),
        pytest.param(lambda: SGHMCSplit(model), marks=pytest.mark.long),
    ],
)
def test_nothing_is_compiled_again(build, caplog):
    mcmc = mcmc_of(build())
    draws(mcmc, data(0))
    with jax.log_compiles(), caplog.at_level(logging.WARNING, logger="jax"):
        found = draws(mcmc, data(5))
    compiled = [r.message for r in caplog.records if "Finished XLA compilation" in r.message]
    # Without a progress bar, as here where CI is set, NumPyro compiles its own loop at each run.
    assert [message for message in compiled if "_fori_collect_loop" not in message] == []
    np.testing.assert_array_equal(found, draws(mcmc_of(build()), data(5)))


@pytest.mark.long
def test_other_shapes_and_other_python_arguments_compile_anew():
    kernel = SGLD(model, 1e-3)
    for args in ((data(0),), (data(1), 0.1), (data(1), 3.0)):
        state = kernel.init(jax.random.key(0), 0, None, args, {})
        exact = SGLD(model, 1e-3)
        other = exact.init(jax.random.key(0), 0, None, args, {})
        np.testing.assert_array_equal(state.z["theta"], other.z["theta"])
        energies = [
            jax.jit(lambda s, k=k: k.sample(s, args, {}).potential_energy)(s)  # noqa: B023
            for k, s in ((kernel, state), (exact, other))
        ]
        assert energies[0] == energies[1]


@pytest.mark.long
def test_data_of_the_last_run_are_let_go():
    kernel = SGHMCSplit(model)
    first = data(0)
    kernel.init(jax.random.key(0), 50, None, (first,), {})
    gone = weakref.ref(first)
    kernel.init(jax.random.key(0), 50, None, (data(1),), {})
    del first
    gc.collect()
    assert gone() is None


def test_words_of_the_progress_bar_are_not_pickled():
    """They hold until a time of this process's clock, which is no time of another's."""
    kernel = SGLD(model, 1e-3)
    state = kernel.init(jax.random.key(0), 0, None, (data(0),), {})
    kernel.get_diagnostics_str(state)
    kernel.memory.progress._until = float("inf")
    copied = pickle.loads(pickle.dumps(kernel))
    later = state._replace(step_size=jnp.asarray(0.5))
    assert copied.get_diagnostics_str(later).startswith("step size 5.00e-01")
