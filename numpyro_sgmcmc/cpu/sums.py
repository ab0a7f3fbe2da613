"""Sums over the rows of narrow arrays."""

import jax

from numpyro_sgmcmc.cpu.gate import is_on

WIDTH = 128
"""Numbers that are added side by side; sums with 64 to 160 of them take about the same time."""


def column_sums(y: jax.Array, columns: int) -> jax.Array:
    """Return the sums over rows of an array (rows, columns), which is given flat.

    XLA adds narrow rows one number at a time. Here several rows are added as one wide row, which
    takes less than half of the time for 2 to 30 columns. A single column is no slower in XLA.
    """
    several = WIDTH // columns if columns > 1 and is_on() else 1
    main = len(y) // (several * columns) * (several * columns) if several > 1 else 0
    rest = y[main:].reshape(-1, columns).sum(0)
    if not main:
        return rest
    wide = y[:main].reshape(-1, several * columns).sum(0)
    return wide.reshape(-1, columns).sum(0) + rest
