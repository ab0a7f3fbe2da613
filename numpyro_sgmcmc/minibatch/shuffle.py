"""Rows in random order, for minibatches of neighbours."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def shuffle_rows(key: jax.Array, *arrays: Any) -> Any:
    """Return arrays with their rows in one random order, the same for all.

    For `ContiguousMinibatch`, whose gradient noise is that of independent rows only where the
    order of the rows carries no information. Once, before the run; each array is copied.

    Args:
        key: a JAX key.
        *arrays: NumPy's or JAX's, with the same number of rows: what comes out is of the same kind.

    Returns:
        The array, or a tuple of them where several are given.

    Raises:
        TypeError: where no array is given.
        ValueError: where they differ in their numbers of rows, or have none.
    """
    if not arrays:
        raise TypeError("Expected at least one array to shuffle; got none.")
    shapes = [np.shape(array) for array in arrays]
    rows = [shape[0] if shape else None for shape in shapes]
    if rows[0] is None or len(set(rows)) > 1:
        raise ValueError(
            "Expected arrays with the same number of rows, their first dimension; got shapes"
            f" {', '.join(map(str, shapes))}."
        )
    order = jax.random.permutation(key, rows[0])
    taken = tuple(
        jnp.take(array, order, axis=0)
        if isinstance(array, jax.Array)
        else np.take(array, np.asarray(order), axis=0)
        for array in arrays
    )
    return taken[0] if len(arrays) == 1 else taken
