"""Work on the columns of large arrays."""

import numpy as np
import pytest

from numpyro_sgmcmc.verdict import columns
from numpyro_sgmcmc.verdict.columns import COLUMNS, by_columns


@pytest.mark.parametrize("numbers", [1, 50, 2**20])
@pytest.mark.parametrize("count", [1, COLUMNS, COLUMNS + 1, 3 * COLUMNS + 5])
def test_columns_come_back_in_their_order(count, numbers, monkeypatch):
    """Blocks end in any order; each column meets its own entry of a vector."""
    monkeypatch.setattr(columns, "NUMBERS", numbers)
    x = np.arange(4.0 * count).reshape(2, 2, count)
    scale = np.arange(1.0, count + 1)
    total, twice = by_columns(lambda x, s: ((x * s).sum((0, 1)), 2 * x), x, scale)
    np.testing.assert_array_equal(total, (x * scale).sum((0, 1)))
    np.testing.assert_array_equal(twice, 2 * x)


def test_columns_in_single_precision_are_worked_on_in_double_precision():
    """Of numbers near 10^4 that differ in the last bits, a sum in single precision keeps none."""
    x = np.float32(1e4) + np.arange(64, dtype=np.float32).reshape(32, 2) / 1_024
    mean, variance = by_columns(lambda x: (x.mean(0), x.var(0)), x)
    exact = x.astype(np.float64)
    np.testing.assert_allclose(mean, exact.mean(0), rtol=1e-15)
    np.testing.assert_allclose(variance, exact.var(0), rtol=1e-9)


def test_an_error_in_a_thread_is_raised():
    def fail(x):
        raise ValueError("of a column")

    with pytest.raises(ValueError, match="of a column"):
        by_columns(fail, np.ones((3, 2 * COLUMNS)))
