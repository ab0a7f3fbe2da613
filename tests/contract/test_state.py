"""States: named tuples whose structure, shapes and types a step keeps, for either kind of key."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.contract.problem import (
    ANCHOR,
    NAMES,
    SOME,
    assert_same,
    data,
    model,
    shared,
)
from tests.marks import briefly
from tests.registry import make

FIELDS = {"i", "z", "rng_key", "step_size", "potential_energy", "diverging"}


LONG = ["SGNHT", "SVRGLD", "SGRRLD", "StaleGradient(SGHMCSplit)", "ReplicaExchange(SGHMCSplit)"]


@pytest.mark.parametrize("name", briefly(NAMES, SOME, LONG))
def test_sample_keeps_the_state(name):
    kernel = shared(name)
    states = [
        kernel.init(jax.random.split(jax.random.key(0), 2), 0, None, data(), {}),
        kernel.init(jax.random.split(jax.random.PRNGKey(0), 2)[1], 0, None, data(), {}),
    ]
    for state in states:
        assert isinstance(state, tuple) and FIELDS.issubset(state._fields)
        with jax.numpy_dtype_promotion("strict"):
            after = jax.eval_shape(lambda s: kernel.sample(s, data(), {}), state)
        before = jax.tree.map(lambda x: (jnp.shape(x), jnp.asarray(x).dtype), state)
        assert before == jax.tree.map(lambda x: (x.shape, x.dtype), after)
    typed, raw = states
    assert all(leaf.shape[:1] == (2,) for leaf in jax.tree.leaves(typed))
    assert_same(jax.tree.map(lambda x: x[1], typed.z), raw.z)
    assert jnp.issubdtype(typed.rng_key.dtype, jax.dtypes.prng_key)
    assert raw.rng_key.dtype == jnp.uint32


@pytest.mark.parametrize("name", SOME)
def test_init_params_are_the_start(name):
    start = {"w": jnp.array([[1.0, -0.4], [0.9, -0.5]]), "sigma": jnp.array([-0.2, -0.1])}
    keys = jax.random.split(jax.random.key(0), 2)
    state = shared(name).init(keys, 0, start, data(), {})
    assert_same(state.z, start)
    if hasattr(state, "z_coarse"):
        assert_same((state.z_coarse, state.z_halfway), (start, start))


@pytest.mark.parametrize("name", SOME)
def test_double_precision(name):
    with jax.enable_x64(True), jax.numpy_dtype_promotion("strict"):
        x, y = (jnp.asarray(np.asarray(v), "float64") for v in data())
        anchor = jax.tree.map(np.float64, ANCHOR)
        kernel = make(name, model, anchor=anchor)
        state = kernel.init(jax.random.key(0), 0, anchor, (x, y), {})
        after = jax.eval_shape(lambda s: kernel.sample(s, (x, y), {}), state)
        assert after.z["w"].dtype == np.float64
        before = jax.tree.map(lambda x: (jnp.shape(x), jnp.asarray(x).dtype), state)
        assert before == jax.tree.map(lambda x: (x.shape, x.dtype), after)
        floats = [v for v in jax.tree.leaves(after) if jnp.issubdtype(v.dtype, jnp.floating)]
        assert {leaf.dtype for leaf in floats} == {np.dtype("float64")}
