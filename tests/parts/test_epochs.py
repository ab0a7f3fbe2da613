"""Minibatch schemes that go by epochs, and the permutations that they read."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import ReshuffledMinibatch, SweepMinibatch
from numpyro_sgmcmc.minibatch.permutation import permuted, round_keys
from numpyro_sgmcmc.types import Plate
from tests.marks import briefly
from tests.parts.test_minibatch import assert_uniform, draws


def steps(scheme, plate, count, seed=0):
    plates = {"rows": Plate(*plate)}

    @jax.jit
    def run(key):
        def step(state, number):
            rows, state = scheme.draw(key, number, plates, state)
            return state, rows["rows"]

        return jax.lax.scan(step, scheme.init(key, plates), jnp.arange(count))[1]

    return np.asarray(run(jax.random.key(seed)))


@pytest.mark.parametrize("size", briefly([1, 2, 3, 10, 97, 1_000, 123_457], [1, 10, 123_457]))
def test_permutation_is_a_bijection(size):
    for seed in range(3):
        rows = permuted(round_keys(jax.random.key(seed), size), size, jnp.arange(size))
        np.testing.assert_array_equal(np.sort(rows), np.arange(size))


@pytest.mark.parametrize("size", [5, 12, 30])
def test_every_ordered_pair_of_rows_is_equally_likely(size):
    """With 8 rounds for every N, some pairs of 12 rows were a tenth more likely than others."""
    keys = jax.random.split(jax.random.key(7), 1_000_000)
    for places in ([0, 1], [1, size - 1]):
        of = lambda key, at=places: permuted(round_keys(key, size), size, jnp.array(at))  # noqa: E731
        rows = jax.jit(jax.vmap(of))(keys)
        first, second = np.asarray(rows).T
        cells = first * (size - 1) + second - (second > first)
        assert_uniform(np.bincount(cells, minlength=size * (size - 1)))


@pytest.mark.parametrize("size", briefly([2_147_480_911, 2**31 - 1], [2_147_480_911]))
def test_places_of_many_rows_are_distinct_and_uniform(size):
    """Hashes of 16 bits do not reach all values of a half above 65,536, here 92,333."""
    of = jax.jit(lambda key, places: permuted(round_keys(key, size), size, places))
    spread = jnp.linspace(0, size - 1, 200_000).astype(jnp.int32)
    for places in (jnp.arange(200_000), jnp.unique(spread)):
        rows = np.asarray(of(jax.random.key(3), places))
        assert rows.min() >= 0 and rows.max() < size
        assert len(np.unique(rows)) == len(places)
    keys = jax.random.split(jax.random.key(5), 200_000)
    rows = np.asarray(jax.jit(jax.vmap(of, (0, None)))(keys, jnp.int32(1)), np.int64)
    assert_uniform(np.bincount(rows * 50 // size, minlength=50))


@pytest.mark.parametrize("plate", [(12, 3), (12, 12), (7, 3), (5, 4), (9, 1)])
def test_reshuffled_sees_every_row_once_an_epoch(plate):
    size, _ = plate
    rows = steps(ReshuffledMinibatch(), plate, 6 * size).ravel()
    epochs = rows.reshape(-1, size)
    np.testing.assert_array_equal(np.sort(epochs, 1), np.tile(np.arange(size), (len(epochs), 1)))
    assert size == 1 or (epochs[0] != epochs[1]).any()


def test_reshuffled_minibatches_are_uniform_alone():
    assert_uniform(np.bincount(draws(ReshuffledMinibatch(), (7, 3), 7_000).ravel(), minlength=7))


@pytest.mark.parametrize("plate", [(12, 3), (7, 3), (5, 4), (6, 6)])
def test_sweep_is_a_palindrome_and_loses_no_row(plate):
    size, batch = plate
    blocks = size // batch
    cycles = steps(SweepMinibatch(), plate, 2 * blocks * 5 * size).reshape(-1, 2 * blocks, batch)
    np.testing.assert_array_equal(cycles, cycles[:, ::-1])
    forward = cycles[:, :blocks].reshape(-1)[: len(cycles) * blocks * batch // size * size]
    epochs = forward.reshape(-1, size)
    np.testing.assert_array_equal(np.sort(epochs, 1), np.tile(np.arange(size), (len(epochs), 1)))


def test_neighbouring_blocks_of_any_sweep_are_independent_of_the_step_count():
    """What a step sees comes from the scheme's state alone, so chains of any count may share it."""
    scheme, plates = SweepMinibatch(), {"rows": Plate(10, 2)}
    state = scheme.init(jax.random.key(0), plates)
    one = scheme.draw(jax.random.key(1), jnp.int32(0), plates, state)
    other = scheme.draw(jax.random.key(2), jnp.int32(9), plates, state)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert (a == b).all()
