"""Order of accuracy: the slope of log |bias| on log h."""

from collections.abc import Callable

import numpy as np


def order(bias: Callable[[float], np.ndarray | float], step_sizes: np.ndarray) -> float:
    """Return the least-squares slope over the step sizes; `bias` is a number or a matrix."""
    sizes = [np.linalg.norm(np.atleast_1d(bias(h))) for h in step_sizes]
    return np.polyfit(np.log(step_sizes), np.log(sizes), 1)[0]
