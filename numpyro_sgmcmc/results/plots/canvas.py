"""Axes for plots: those of the user, or new ones."""

from math import ceil
from typing import Any

import numpy as np

SIZE = (4.2, 2.6)
"""Size of a plot in inches, readable on the width of a phone."""

COLUMNS = 3


def one_axes(axes: Any) -> Any:
    """Return the given axes, or new ones.

    Raises:
        ImportError: if matplotlib is needed and missing.
    """
    return new_axes(1)[0] if axes is None else axes


def many_axes(axes: Any, count: int) -> list[Any]:
    """Return the first `count` of the given axes, or new ones.

    Raises:
        ImportError: if matplotlib is needed and missing.
        ValueError: if there are fewer axes.
    """
    if axes is None:
        return new_axes(count)
    found = list(np.ravel(np.asarray(axes, dtype=object)))
    if len(found) < count:
        raise ValueError(
            f"Expected {count} axes, one for each entry; got {len(found)}. Choose fewer `var_names`"
            " or omit `axes`."
        )
    return found[:count]


def new_axes(count: int) -> list[Any]:
    """Return the axes of a new figure; unused places of its grid stay hidden."""
    pyplot = _pyplot()
    columns = min(count, COLUMNS)
    rows = ceil(count / columns)
    size = (SIZE[0] * columns, SIZE[1] * rows)
    _, grid = pyplot.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    found = list(grid.flat)
    for spare in found[count:]:
        spare.set_visible(False)
    return found[:count]


def finish(axes: Any, title: str, x: str, y: str) -> Any:
    """Return the axes with title and labels."""
    axes.set_title("")  # removes ArviZ's title in the middle
    axes.set_title(title, loc="left", fontsize="medium")
    axes.tick_params(labelsize="small")
    axes.xaxis.label.set_visible(True)  # ArviZ hides an empty label
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise ImportError(
            "Expected matplotlib, which draws the plots; it is not installed. Run"
            ' `pip install "numpyro-sgmcmc[report]"`.'
        ) from error
    return pyplot
