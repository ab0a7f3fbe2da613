"""The distribution of the ages that gradients had in a run."""

from dataclasses import dataclass
from typing import final

import numpy as np

from numpyro_sgmcmc.staleness.delay import AbstractDelay


@final
@dataclass(frozen=True)
class ObservedDelay(AbstractDelay):
    """Ages with the frequencies that were counted. Theory takes them as independent draws.

    Args:
        frequencies: shares of the ages 0, 1, ..., m; their sum is 1.
    """

    frequencies: tuple[float, ...]

    @property
    def largest(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The largest age that was counted."""
        return len(self.frequencies) - 1

    def probabilities(self) -> np.ndarray:
        """Return the frequencies."""
        return np.array(self.frequencies)


def observed(ages: np.ndarray) -> ObservedDelay:
    """Return the distribution of ages, integers of any shape."""
    counts = np.bincount(np.asarray(ages).ravel())
    return ObservedDelay(tuple((counts / counts.sum()).tolist()))
