"""Minibatch schemes: uniform over what they say, for either kind of key and in either precision."""

from itertools import combinations, product
from math import comb

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2

from numpyro_sgmcmc import (
    ContiguousMinibatch,
    ReshuffledMinibatch,
    SweepMinibatch,
    UniformMinibatch,
)
from numpyro_sgmcmc.types import Plate
from tests.marks import briefly

RATE = 1e-5
"""False-failure rate of one chi-square test under a new key; five in this file."""


def draws(scheme, plate, count, seed=0):
    plates = {"rows": Plate(*plate)}

    @jax.jit
    @jax.vmap
    def draw(key):
        state = scheme.init(key, plates)
        return scheme.draw(key, jnp.int32(0), plates, state)[0]["rows"]

    return np.asarray(draw(jax.random.split(jax.random.key(seed), count)))


def assert_uniform(counts):
    """Pearson's chi-square test; at least 100 expected in each cell."""
    expected = counts.sum() / len(counts)
    assert expected >= 100
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < chi2.isf(RATE, len(counts) - 1)


@pytest.mark.parametrize(
    "plate",
    [(16, 2), pytest.param((24, 3), marks=pytest.mark.long), (5, 3)],
    ids=["redraw", "redraw 3", "shuffle"],
)
def test_without_replacement_every_set_is_equally_likely(plate):
    size, batch = plate
    rows = draws(UniformMinibatch(replace=False), plate, 200 * comb(size, batch))
    assert all(len(set(row)) == batch for row in rows.tolist())
    sets = {one: k for k, one in enumerate(combinations(range(size), batch))}
    cells = [sets[tuple(sorted(row))] for row in rows.tolist()]
    assert_uniform(np.bincount(cells, minlength=len(sets)))


def test_with_replacement_every_ordered_pair_is_equally_likely():
    rows = draws(UniformMinibatch(), (6, 2), 20_000)
    assert_uniform(np.bincount(rows[:, 0] * 6 + rows[:, 1], minlength=36))


def test_contiguous_blocks_wrap():
    rows = draws(ContiguousMinibatch(), (7, 3), 7_000)
    np.testing.assert_array_equal(rows, (rows[:, :1] + np.arange(3)) % 7)
    assert_uniform(np.bincount(rows[:, 0], minlength=7))


SCHEMES = [
    UniformMinibatch(),
    UniformMinibatch(replace=False),
    ContiguousMinibatch(),
    ReshuffledMinibatch(),
    SweepMinibatch(),
]
CASES = list(product(SCHEMES, (False, True)))


@pytest.mark.parametrize(("scheme", "x64"), briefly(CASES, CASES[:6:2], CASES[7::2]))
def test_plates_are_independent_and_keys_of_either_kind_agree(scheme, x64):
    plates = {"a": Plate(1_000, 8), "b": Plate(1_000, 8), "few": Plate(9, 4)}
    with jax.enable_x64(x64):
        found = []
        for key in (jax.random.key(1), jax.random.PRNGKey(1)):
            draw = jax.jit(
                lambda key: scheme.draw(key, jnp.int32(0), plates, scheme.init(key, plates))[0]
            )
            found.append(jax.tree.map(np.asarray, draw(key)))
    assert {name: x.shape for name, x in found[0].items()} == {"a": (8,), "b": (8,), "few": (4,)}
    assert (found[0]["a"] != found[0]["b"]).any()
    for name, plate in plates.items():
        np.testing.assert_array_equal(found[0][name], found[1][name])
        assert found[0][name].min() >= 0 and found[0][name].max() < plate.size


def test_a_whole_plate_without_replacement_is_a_permutation():
    rows = draws(UniformMinibatch(replace=False), (9, 9), 10)
    np.testing.assert_array_equal(np.sort(rows, axis=1), np.tile(np.arange(9), (10, 1)))
