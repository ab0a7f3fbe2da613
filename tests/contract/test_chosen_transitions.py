"""Kernels that choose their transitions per draw run alike however they are run."""

import pickle
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import (
    SGLD,
    ReshuffledMinibatch,
    RichardsonRomberg,
    SGHMCSplit,
    SharedMinibatch,
    to_inference_data,
)
from tests.contract.problem import assert_same, data, mcmc_of, model
from tests.marks import rarely

KERNELS = {
    "SGHMCSplit": lambda **options: SGHMCSplit(model, **options),
    "pair": lambda **options: RichardsonRomberg(SGLD(model, **options)),
    "epochs": lambda **options: SGHMCSplit(model, minibatch=ReshuffledMinibatch(), **options),
    "shared": lambda **options: SGHMCSplit(model, minibatch=SharedMinibatch(), **options),
}
WARMUP = 60


@cache
def kernel_of(name):
    return KERNELS[name]()


def run(kernel, **options):
    mcmc = mcmc_of(kernel, warmup=WARMUP, **options)
    mcmc.run(jax.random.key(0), *data())
    return mcmc


@cache
def vectorised(name):
    return run(kernel_of(name))


@pytest.mark.long
@pytest.mark.parametrize("name", rarely(KERNELS, ["SGHMCSplit"]))
def test_a_draw_is_that_of_a_kernel_with_this_number(name):
    """From the same state both take the same transitions; another program may round differently."""
    mcmc = vectorised(name)
    state = mcmc.last_state
    steps = int(state.tuned.pace.num_steps[0])
    assert steps == mcmc.sampler.num_steps > 1
    given = KERNELS[name](num_steps=steps)
    bound = {"model_args": data(), "model_kwargs": {}}
    chosen = jax.jit(partial(kernel_of(name).sample, **bound))(state)
    # A kernel with a given number counts i times it; the epochs follow this count.
    pace = state.tuned.pace._replace(warmup_steps=state.tuned.pace.num_steps)
    state = state._replace(tuned=state.tuned._replace(pace=pace))
    fixed = state._replace(tuned=state.tuned._replace(pace=None))
    expected = jax.jit(partial(given.sample, **bound))(fixed)
    assert_same(chosen.z, expected.z)
    assert_same(chosen.rng_key, expected.rng_key, rtol=0, atol=0)
    np.testing.assert_array_equal(chosen.i, state.i + 1)


@pytest.mark.long
@pytest.mark.parametrize(("name", "method"), [("SGHMCSplit", "sequential"), ("pair", "parallel")])
def test_chain_methods(name, method):
    expected = vectorised(name)
    mcmc = run(kernel_of(name), chain_method=method)
    assert mcmc.chain_method == method
    assert_same(mcmc.get_samples(True), expected.get_samples(True), rtol=1e-3, atol=1e-4)
    assert_same(mcmc.last_state.i, expected.last_state.i)


@pytest.mark.long
def test_under_jit():
    @jax.jit
    def draws(key):
        mcmc = mcmc_of(kernel_of("SGHMCSplit"), warmup=WARMUP)
        mcmc.run(key, *data())
        return mcmc.get_samples()

    expected = vectorised("SGHMCSplit").get_samples()
    assert_same(draws(jax.random.key(0)), expected, rtol=1e-3, atol=1e-4)


@pytest.mark.long
def test_one_program_for_all_numbers():
    kernel, state = kernel_of("SGHMCSplit"), vectorised("SGHMCSplit").last_state
    sample = jax.jit(partial(kernel.sample, model_args=data(), model_kwargs={}))
    counts = []
    for steps in (1, 2, 7):
        pace = state.tuned.pace._replace(num_steps=jnp.full_like(state.i, steps))
        moved = sample(state._replace(tuned=state.tuned._replace(pace=pace)))
        counts.append(round(float(moved.weight[0] / state.step_size[0])))
    assert counts == [1, 2, 7]
    assert sample._cache_size() == 1


@pytest.mark.long
@pytest.mark.parametrize("name", ["SGHMCSplit", "pair"])
def test_resuming(name):
    """Warm-up and two runs of three draws, the second from a pickled state, are a run of six."""
    whole = vectorised(name)
    first = mcmc_of(kernel_of(name), warmup=WARMUP, num_samples=3)
    first.warmup(jax.random.key(0), *data())
    assert (first.post_warmup_state.i == WARMUP).all()
    first.run(first.post_warmup_state.rng_key, *data())
    raw = jax.random.key_data(first.last_state.rng_key)
    kernel, state = pickle.loads(
        pickle.dumps((first.sampler, first.last_state._replace(rng_key=None)))
    )
    second = mcmc_of(kernel, warmup=WARMUP, num_samples=3)
    second.post_warmup_state = state._replace(rng_key=jax.random.wrap_key_data(raw))
    second.run(second.post_warmup_state.rng_key, *data())
    parts = [m.get_samples(group_by_chain=True) for m in (first, second)]
    joined = jax.tree.map(lambda a, b: np.concatenate([a, b], 1), *parts)
    assert_same(joined, jax.tree.map(np.asarray, whole.get_samples(group_by_chain=True)))
    assert_same(second.last_state.i, whole.last_state.i)


@pytest.mark.long
def test_without_warm_up_iterations():
    mcmc = mcmc_of(SGHMCSplit(model), warmup=0)
    mcmc.run(jax.random.key(0), *data())
    pace = jax.tree.map(lambda leaf: int(leaf[0]), mcmc.last_state.tuned.pace)
    assert pace.num_warmup == 0
    assert pace.num_steps == pace.warmup_steps > 1
    weight = mcmc.last_state.step_size * pace.num_steps
    np.testing.assert_allclose(mcmc.last_state.weight, weight, rtol=1e-5)


@pytest.mark.long
def test_what_a_run_says():
    mcmc = vectorised("SGHMCSplit")
    pace = jax.tree.map(lambda leaf: int(leaf[0]), mcmc.last_state.tuned.pace)
    chain = jax.tree.map(lambda leaf: leaf[0], mcmc.last_state)
    assert f"{pace.num_steps} steps per draw" in mcmc.sampler.get_diagnostics_str(chain)
    found = to_inference_data(mcmc, verdict=False).posterior.attrs
    assert found["num_steps"] == pace.num_steps
    assert found["warmup_steps"] == pace.warmup_steps
    assert found["num_transitions"] == 2 * (WARMUP * pace.warmup_steps + 6 * pace.num_steps)
    assert found["autocorrelation_time"] > 1
    weights = np.asarray(chain.step_size * pace.num_steps)
    np.testing.assert_allclose(chain.weight, weights, rtol=1e-5)
