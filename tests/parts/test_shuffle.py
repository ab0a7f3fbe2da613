"""Rows in random order."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import shuffle_rows


def test_rows_stay_together_and_arrays_keep_their_kind():
    x, y = np.arange(60.0).reshape(20, 3), jnp.arange(20)
    kept = x.copy()
    shuffled, labels = shuffle_rows(jax.random.key(0), x, y)
    assert isinstance(shuffled, np.ndarray) and isinstance(labels, jax.Array)
    np.testing.assert_array_equal(shuffled, x[np.asarray(labels)])
    assert sorted(labels.tolist()) == list(range(20)) != labels.tolist()
    np.testing.assert_array_equal(x, kept)
    one = shuffle_rows(jax.random.key(0), y)
    np.testing.assert_array_equal(one, labels)
    assert (shuffle_rows(jax.random.key(1), y) != labels).any()


def test_every_order_is_equally_likely():
    """Six orders of three rows by 600 keys: chi-squared (5) is above 20.5 once in 1,000."""
    keys = jax.random.split(jax.random.key(2), 600)
    orders = np.asarray(jax.vmap(lambda key: shuffle_rows(key, jnp.arange(3)))(keys)) @ [9, 3, 1]
    counts = np.unique(orders, return_counts=True)[1]
    assert len(counts) == 6
    assert ((counts - 100) ** 2 / 100).sum() < 20.5


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        ((), TypeError, "at least one array"),
        ((np.zeros(3), np.zeros((4, 3))), ValueError, r"got shapes \(3,\), \(4, 3\)"),
        ((np.float32(1.0),), ValueError, r"got shapes \(\)"),
    ],
)
def test_what_cannot_be_shuffled(arrays, error, message):
    with pytest.raises(error, match=message):
        shuffle_rows(jax.random.key(0), *arrays)
