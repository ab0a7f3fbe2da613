"""Pytrees as vectors and back, to the bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc.distributed.messages import SMALL as SMALL_MESSAGE
from numpyro_sgmcmc.distributed.messages import Answer, Request, packed, unpacked
from numpyro_sgmcmc.distributed.packing import SMALL, packing_of


def tree():
    return {
        "key": jax.random.key(3),
        "rbg": jax.random.split(jax.random.key(4, impl="rbg"), 2),
        "scalar": jnp.float32(0.1),
        "matrix": jnp.arange(6, dtype=jnp.float32).reshape(2, 3),
        "count": jnp.int32(-7),
        "flag": jnp.array([True, False]),
        "none": None,
        "empty": jnp.zeros((0, 3)),
        "large": jnp.arange(SMALL + 1, dtype=jnp.float32),
    }


def test_there_and_back():
    packing = packing_of(tree)
    there = jax.jit(packing.packed)(tree())
    assert len(there.large) == 1 and len(jax.tree.leaves(there)) == 5
    back = jax.jit(packing.unpacked)(there)
    assert jax.tree.structure(back) == jax.tree.structure(tree())
    for one, other in zip(jax.tree.leaves(tree()), jax.tree.leaves(back), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        if jax.dtypes.issubdtype(one.dtype, jax.dtypes.prng_key):
            one, other = jax.random.key_data(one), jax.random.key_data(other)
        assert np.array_equal(one, other)
    both = packing.on_host([there, there])
    assert all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(both))
    held = jax.tree.map(lambda x: x[1], both)
    assert np.array_equal(held["matrix"], tree()["matrix"]) and held["count"] == -7
    assert np.array_equal(held["key"], jax.random.key_data(tree()["key"]))


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16])
@pytest.mark.parametrize("dimension", [3, SMALL_MESSAGE])
def test_messages_are_the_same_on_the_other_side(dimension, dtype):
    """Small ones travel as bytes, large ones as they are."""
    point, keys = np.arange(dimension).astype(dtype), np.arange(2, dtype=np.uint32)[None]
    request = Request(1, 20, 1, 3, point, keys, [np.arange(4), np.array(True), np.zeros((2, 0))])
    answer = Answer(1, 20, 3, point[None], 0.25)
    for message in (request, answer):
        sent = packed(message)
        assert isinstance(sent, bytes) == (dimension == 3)
        assert type(sent if sent is message else unpacked(sent)) is type(message)
        leaves = zip(jax.tree.leaves(unpacked(sent)), jax.tree.leaves(message), strict=True)
        for one, other in leaves:
            assert np.array_equal(one, other) and np.shape(one) == np.shape(other)
            assert np.asarray(one).dtype == np.asarray(other).dtype
