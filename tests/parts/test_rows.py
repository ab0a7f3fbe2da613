"""Uniform rows: exactly the integer part of a binary fraction times the size."""

import jax
import numpy as np
import pytest

from numpyro_sgmcmc.minibatch import uniform_rows

KEY = jax.random.key(3)


@pytest.mark.parametrize("size", [1, 7, 2**16 + 1, 2**22, 2**22 + 1, 1_000_000_007, 2**31 - 1])
def test_rows_are_the_integer_part_of_a_fraction(size):
    rows = np.asarray(uniform_rows(KEY, (500,), size))
    if size <= 2**22:
        words = jax.random.bits(KEY, (500,), "uint32")
        exact = [(int(word) * size) >> 32 for word in words]
    else:
        pairs = np.asarray(jax.random.bits(KEY, (2, 500), "uint32")).T
        exact = [((int(high) << 32 | int(low)) * size) >> 64 for high, low in pairs]
    np.testing.assert_array_equal(rows, exact)
    assert rows.dtype == np.int32


def test_a_carry_from_the_lower_bits_counts():
    """Where the fraction's upper word alone falls just short of an integer."""
    size = 2**31 - 1
    rows = uniform_rows(KEY, (200_000,), size)
    bits = np.asarray(jax.random.bits(KEY, (2, 200_000), "uint32")).astype(object)
    upper_only = (bits[0] * size) >> 32
    exact = ((bits[0] * 2**32 + bits[1]) * size) >> 64
    assert (upper_only != exact).any()
    np.testing.assert_array_equal(np.asarray(rows), exact.astype(np.int64))
