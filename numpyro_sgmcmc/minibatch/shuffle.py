"""Random reordering of rows, for minibatches of neighbouring rows."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def shuffle_rows(key: jax.Array, *arrays: Any) -> Any:
    """Return copies of arrays with their rows in a random order, the same for all arrays.

    Use it once before a run with `ContiguousMinibatch`, whose gradient noise is that of independent
    rows only if the order of the rows carries no information.

    Args:
        key: a JAX key.
        *arrays: NumPy or JAX arrays with the same number of rows. The results are of the same kind.

    Returns:
        The array, or a tuple of arrays if several are given.

    Raises:
        TypeError: if no array is given.
        ValueError: if the arrays differ in their numbers of rows, or have no dimension.
    """
    if not arrays:
        raise TypeError("Expected at least one array to shuffle; got none. Pass the data.")
    shapes = [np.shape(array) for array in arrays]
    rows = [shape[0] if shape else None for shape in shapes]
    if rows[0] is None or len(set(rows)) > 1:
        raise ValueError(
            "Expected arrays with the same number of rows, their first dimension; got shapes"
            f" {', '.join(map(str, shapes))}. Transpose or cut them so that rows correspond."
        )
    order = jax.random.permutation(key, rows[0])
    taken = tuple(
        jnp.take(array, order, axis=0)
        if isinstance(array, jax.Array)
        else np.take(array, np.asarray(order), axis=0)
        for array in arrays
    )
    return taken[0] if len(arrays) == 1 else taken
