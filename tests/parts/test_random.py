"""The library's random numbers against JAX's, bit by bit."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.minibatch import uniform_rows

KEYS = {
    "typed": jax.random.key(3),
    "raw": jax.random.PRNGKey(2**31 + 5),
    "rbg": jax.random.key(2, impl="rbg"),
}
SHAPES = [(), (1,), (7,), (3, 5), (0,)]

every_key = pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)


def pairs(made, key):
    """What both libraries make of a key, in compiled programs."""
    ours, theirs = (jax.jit(partial(made, lib))(key) for lib in (random, jax.random))
    return zip(ours, theirs, strict=True)


def words(keys: jax.Array) -> np.ndarray:
    return np.asarray(jax.random.key_data(keys))


@every_key
def test_keys_are_those_of_jax(key):
    nums, number = (1, 2, 5, (3, 4)), jnp.asarray(2**31 - 1)

    def made(lib, key):
        return [lib.fold_in(key, number), *(lib.split(key, num) for num in nums)]

    for ours, theirs in pairs(made, key):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_array_equal(words(ours), words(theirs))


@every_key
def test_keys_one_by_one(key):
    for num in (1, 3):
        theirs, compiled = (
            list(jax.random.split(key, num)),
            jax.jit(random.keys_of, static_argnums=1),
        )
        for keys in (random.keys_of(key, num), compiled(key, num)):
            for ours, reference in zip(keys, theirs, strict=True):
                assert ours.dtype == reference.dtype and ours.shape == reference.shape
                np.testing.assert_array_equal(words(ours), words(reference))


def test_keys_one_by_one_need_no_program():
    compiled = []
    note = lambda event, *_, **__: compiled.append(event)  # noqa: E731
    jax.monitoring.register_event_duration_secs_listener(note)
    random.keys_of(KEYS["typed"], 4)
    jax.monitoring.clear_event_listeners()
    assert not compiled


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(key, id=name, marks=[pytest.mark.long] if name == "typed" else [])
        for name, key in KEYS.items()
    ],
)
def test_numbers_are_those_of_jax(key):
    def made(lib, key):
        signs = lib.signs if lib is random else lib.rademacher
        bits = lib.bits if lib is random else partial(lib.bits, dtype=jnp.uint32)
        found = [bits(key, shape) for shape in SHAPES]
        for dtype in (jnp.float32, jnp.bfloat16):
            for shape in SHAPES:
                found += [lib.normal(key, shape, dtype), signs(key, shape, dtype)]
                found += [lib.uniform(key, shape, dtype, minval=-2.0, maxval=3.0)]
        return found

    for ours, theirs in pairs(made, key):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


def test_many_numbers_are_those_of_jax():
    key, count = KEYS["typed"], 300_000
    ours = jax.jit(lambda k: random.normal(k, (count,), jnp.float32))(key)
    theirs = jax.jit(lambda k: jax.random.normal(k, (count,)))(key)
    # The same uniform numbers; the inverse error function may be rounded otherwise where it is
    # fused with them.
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=0)


@pytest.mark.parametrize("draw", ["normal", "uniform", "signs", "binomial", "rows"])
def test_a_number_is_made_once_however_often_it_is_used(draw):
    """XLA would fuse the rounds into each use, to be computed and compiled as often."""
    draws = {
        "normal": partial(random.normal, shape=(9,), dtype=jnp.float32),
        "uniform": partial(random.uniform, shape=(9,), dtype=jnp.float32, minval=0.0, maxval=1.0),
        "signs": partial(random.signs, shape=(9,), dtype=jnp.float32),
        "binomial": partial(random.binomial, shape=(9,), dtype=jnp.float32),
        "rows": partial(uniform_rows, shape=(9,), size=50),
    }

    def once(key):
        return draws[draw](key) + 1

    def often(key):
        x = draws[draw](key)
        return x + 1, jnp.sum(x * x), x[2] * 3, jnp.where(x.max() > 0, x, x[::-1]), jnp.tanh(x)[:4]

    def rounds(fn):
        program = jax.jit(fn).lower(KEYS["typed"]).compile()
        return sum(" xor(" in line for line in program.as_text().splitlines())

    assert rounds(often) == rounds(once) > 0


def test_moments_of_binomial_numbers_by_counting(monkeypatch):
    """Each value of either half of a word once."""
    halves = np.arange(2**16, dtype=np.uint32)
    words = jnp.asarray(halves | halves[::-1] << 16)
    monkeypatch.setattr(random, "_many_bits", lambda key, count: words)
    made = np.asarray(random.binomial(KEYS["typed"], (2**17,), jnp.float32), np.float64)
    for low_or_high in made.reshape(2, -1):
        moments = [np.mean(low_or_high**k) for k in range(1, 6)]
        np.testing.assert_array_equal(moments, [0, 1, 0, 2.875, 0])


def test_binomial_numbers_are_counts_of_the_bits_of_jax():
    for key in KEYS.values():
        for shape in ((7,), (3, 5), (), (0,)):
            count = np.prod(shape, dtype=int)
            words = np.asarray(jax.random.bits(key, (-(-count // 2),), jnp.uint32))
            halves = [*(words & 0xFFFF), *(words >> 16)][:count]
            expected = np.array([bin(half).count("1") / 2 - 4 for half in halves]).reshape(shape)
            made = jax.jit(partial(random.binomial, shape=shape, dtype=jnp.float32))(key)
            assert made.dtype == jnp.float32
            np.testing.assert_array_equal(made, expected)


def test_many_binomial_numbers_are_counts_too():
    """They are drawn in a branch, which chains with their own keys do not have."""
    count = 2 * random.MANY_NUMBERS + 1
    draw = jax.jit(partial(random.binomial, shape=(count,), dtype=jnp.float32))
    keys = jax.random.split(KEYS["typed"], 2)
    assert "cond[" in str(jax.make_jaxpr(draw)(keys[0]))
    for key, of_chain in zip(keys, jax.jit(jax.vmap(draw))(keys), strict=True):
        words = jax.random.bits(key, (-(-count // 2),), jnp.uint32)
        halves = np.concatenate([words & 0xFFFF, words >> 16]).astype(np.uint16)[:count]
        counts = np.unpackbits(halves.view(np.uint8).reshape(-1, 2), axis=1).sum(1)
        np.testing.assert_array_equal(draw(key), counts / 2 - 4)
        np.testing.assert_array_equal(of_chain, draw(key))


def test_moments_of_a_stream_of_binomial_numbers():
    """11 comparisons at 4.5 standard errors: false-failure rate 7e-5; the key is fixed."""
    count = 2**20
    made = np.asarray(random.binomial(KEYS["typed"], (count,), jnp.float32), np.float64)
    low, high = made.reshape(2, -1)
    samples = [(made**k, moment) for k, moment in zip(range(1, 5), [0, 1, 0, 2.875], strict=True)]
    pairs = [(low, high), (made[1:], made[:-1]), (low[2:], low[:-2])]
    samples += [(a * b, 0) for a, b in pairs] + [(a**2 * b**2, 1) for a, b in pairs]
    samples += [(made == 0, 12870 / 2**16)]
    for sample, expected in samples:
        assert abs(sample.mean() - expected) < 4.5 * sample.std() / np.sqrt(sample.size)


def test_numbers_that_are_kept_are_the_same():
    """Normal numbers may be rounded otherwise where they are fused."""
    for shape in ((9,), (2, 40_000)):
        draw = partial(random.normal, shape=shape, dtype=jnp.float32)
        kept, fused = (
            jax.jit(partial(draw, is_kept=kept))(KEYS["typed"]) for kept in (True, False)
        )
        np.testing.assert_allclose(kept, fused, rtol=1e-6, atol=0)


def test_many_numbers_that_are_kept_are_made_once():
    def used(key, is_kept):
        x, y = random.normal(key, (2, 40_000), jnp.float32, is_kept=is_kept)
        return x + y, jnp.tanh(x) * y, x - y

    def rounds(is_kept):
        program = jax.jit(partial(used, is_kept=is_kept)).lower(KEYS["typed"]).compile()
        return sum(" xor(" in line for line in program.as_text().splitlines())

    assert rounds(True) <= rounds(False) / 2


def test_keys_of_chains():
    keys = jax.random.split(KEYS["typed"], 4)

    def made(lib, key):
        first, second = lib.split(key)
        return lib.normal(first, (5,), jnp.float32), lib.uniform(
            second, (5,), jnp.float32, 0.0, 1.0
        )

    ours, theirs = (jax.jit(jax.vmap(partial(made, lib)))(keys) for lib in (random, jax.random))
    for mine, reference in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, reference, rtol=1e-6, atol=0)


def test_double_precision_is_left_to_jax():
    key = KEYS["typed"]
    with jax.enable_x64(True):
        ours = random.normal(key, (3,), jnp.float64)
        np.testing.assert_array_equal(ours, jax.random.normal(key, (3,), jnp.float64))
        assert ours.dtype == jnp.float64
