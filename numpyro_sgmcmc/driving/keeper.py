"""The interface of what keeps the draws of a run."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from numpyro_sgmcmc.driving.plan import Step


class AbstractKeeper(ABC):
    """Keeps the draws of a run as they come."""

    @abstractmethod
    def add(self, step: Step, draws: Any) -> None:
        """Keep the draws of a step, by field (chain, draw, ...)."""

    @abstractmethod
    def sampled(self, count: int, kept: int) -> dict[str, np.ndarray]:
        """Return at most `kept` of the first draws by site, evenly spaced, (chain, draw, entry)."""

    @abstractmethod
    def is_due(self) -> bool:
        """Return whether the state should be saved now."""

    @abstractmethod
    def save(self, state: Any, iterations: int) -> None:
        """Save the state after so many iterations."""
