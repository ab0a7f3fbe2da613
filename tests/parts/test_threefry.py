"""The library's random numbers against JAX's, bit by bit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import threefry

KEYS = {
    "typed": jax.random.key(3),
    "raw": jax.random.PRNGKey(2**31 + 5),
    "rbg": jax.random.key(2, impl="rbg"),
}
SHAPES = [(), (1,), (7,), (3, 5), (0,)]

every_key = pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)


def words(keys: jax.Array) -> np.ndarray:
    return np.asarray(jax.random.key_data(keys))


@every_key
@pytest.mark.parametrize("num", [1, 2, 5, (3, 4)])
def test_keys_are_those_of_jax(key, num):
    ours, theirs = jax.jit(lambda k: threefry.split(k, num))(key), jax.random.split(key, num)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_array_equal(words(ours), words(theirs))
    number = jnp.asarray(2**31 - 1)
    ours, theirs = jax.jit(threefry.fold_in)(key, number), jax.random.fold_in(key, number)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    np.testing.assert_array_equal(words(ours), words(theirs))


@every_key
@pytest.mark.parametrize("num", [1, 3])
def test_keys_one_by_one(key, num):
    theirs = list(jax.random.split(key, num))
    for keys in (threefry.keys_of(key, num), jax.jit(lambda k: threefry.keys_of(k, num))(key)):
        for ours, reference in zip(keys, theirs, strict=True):
            assert ours.dtype == reference.dtype and ours.shape == reference.shape
            np.testing.assert_array_equal(words(ours), words(reference))


def test_keys_one_by_one_need_no_program():
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compiled.append(event)
    )
    threefry.keys_of(KEYS["typed"], 4)
    jax.monitoring.clear_event_listeners()
    assert not compiled


@every_key
@pytest.mark.parametrize("shape", SHAPES)
def test_words_are_those_of_jax(key, shape):
    ours = jax.jit(lambda k: threefry.bits(k, shape))(key)
    assert ours.dtype == jnp.uint32
    np.testing.assert_array_equal(ours, jax.random.bits(key, shape, jnp.uint32))


@every_key
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16], ids=str)
@pytest.mark.parametrize("shape", SHAPES)
def test_numbers_are_those_of_jax(key, shape, dtype):
    pairs = {
        "normal": (threefry.normal, jax.random.normal),
        "signs": (threefry.signs, jax.random.rademacher),
        "uniform": (
            lambda *given: threefry.uniform(*given, minval=-2.0, maxval=3.0),
            lambda *given: jax.random.uniform(*given, minval=-2.0, maxval=3.0),
        ),
    }
    for name, (ours, theirs) in pairs.items():
        mine = jax.jit(lambda k, draw=ours: draw(k, shape, dtype))(key)
        reference = jax.jit(lambda k, draw=theirs: draw(k, shape, dtype))(key)
        assert mine.dtype == reference.dtype, name
        np.testing.assert_array_equal(mine, reference, err_msg=name)


def test_many_numbers_are_those_of_jax():
    key, count = KEYS["typed"], 300_000
    ours = jax.jit(lambda k: threefry.normal(k, (count,), jnp.float32))(key)
    theirs = jax.jit(lambda k: jax.random.normal(k, (count,)))(key)
    # The same uniform numbers; the inverse error function may be rounded otherwise where it is
    # fused with them.
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=0)


def test_keys_of_chains():
    keys = jax.random.split(KEYS["typed"], 4)
    ours = jax.vmap(lambda key: threefry.bits(threefry.split(key)[1], (5,)))(keys)
    theirs = jax.vmap(lambda key: jax.random.bits(jax.random.split(key)[1], (5,)))(keys)
    np.testing.assert_array_equal(ours, theirs)


def test_double_precision_is_left_to_jax():
    key = KEYS["typed"]
    with jax.enable_x64(True):
        ours = threefry.normal(key, (3,), jnp.float64)
        np.testing.assert_array_equal(ours, jax.random.normal(key, (3,), jnp.float64))
        assert ours.dtype == jnp.float64
