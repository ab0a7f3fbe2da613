"""Stopping, pickling and going on give the draws of a run that never stopped."""

import pickle

import jax
import numpy as np
import pytest

from tests.contract.problem import (
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


def pickled(value):
    return pickle.loads(pickle.dumps(value))


def without_key(state):
    """Pickle a state with its key as raw data: JAX does not pickle typed keys."""
    raw = np.asarray(jax.random.key_data(state.rng_key))
    state, raw = pickled((state._replace(rng_key=None), raw))
    return state._replace(rng_key=jax.random.wrap_key_data(raw))


@pytest.mark.parametrize("name", briefly(SOME, SOME[1:2]))
def test_resuming_a_pickled_state_in_a_fresh_mcmc(name):
    whole = vectorised(name)
    first = mcmc_of(shared(name), num_samples=2)
    first.run(jax.random.key(0), *data())
    state = without_key(first.last_state)
    second = mcmc_of(pickled(first.sampler), num_samples=SAMPLES - 2)
    second.post_warmup_state = state
    second.run(state.rng_key, *data())
    parts = [m.get_samples(group_by_chain=True) for m in (first, second)]
    joined = jax.tree.map(lambda a, b: np.concatenate([a, b], 1), *parts)
    assert_same(joined, jax.tree.map(np.asarray, whole.get_samples(group_by_chain=True)))
    assert_same(second.last_state, whole.last_state, rtol=1e-4)


@pytest.mark.parametrize("name", SOME)
def test_pickled_before_a_run(name):
    kernel = pickled(build(name))
    key = jax.random.split(jax.random.key(0), 2)
    first, second = (k.init(key, 0, None, data(), {}) for k in (kernel, shared(name)))
    assert_same(first, second)


@pytest.mark.parametrize("name", briefly(["SGHMC", "RichardsonRomberg(SGLDFP)"], ["SGHMC"]))
def test_warmup_then_run(name, monkeypatch):
    mcmc = mcmc_of(shared(name))
    mcmc.warmup(jax.random.key(0), *data())
    assert (mcmc.post_warmup_state.i == mcmc.num_warmup).all()
    # Going on must not prepare anything again.
    with monkeypatch.context() as patch:
        patch.setattr(type(mcmc.sampler), "init", None)
        mcmc.run(mcmc.post_warmup_state.rng_key, *data())
    assert_same(mcmc.get_samples(), vectorised(name).get_samples())


def test_pickled_mcmc_keeps_its_draws():
    mcmc = mcmc_of(shared("SGHMCSplit"))
    mcmc.run(jax.random.PRNGKey(0), *data())
    assert_same(pickled(mcmc).get_samples(), mcmc.get_samples())
