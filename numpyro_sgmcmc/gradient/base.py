"""Interface of gradient estimators."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import jax

from numpyro_sgmcmc.types import Minibatch, StochasticPotential


class Estimate(NamedTuple):
    """An estimate of U (shape ()) and of its gradient (shape (d,)) at one position."""

    potential_energy: jax.Array
    gradient: jax.Array


class AbstractGradient(ABC):
    """Estimates the gradient of the whole-data potential from a minibatch, without bias.

    Attributes:
        needs_anchor: whether `init` wants the full gradient at an anchor.
    """

    needs_anchor: ClassVar[bool]

    @abstractmethod
    def init(self, anchor: Any) -> Any:
        """Return the estimator's first state.

        Args:
            anchor: an `Anchor` where `needs_anchor` is true, else None.
        """

    @abstractmethod
    def estimate(
        self, potential: StochasticPotential, position: jax.Array, minibatch: Minibatch, state: Any
    ) -> tuple[Estimate, Any]:
        """Return the estimate at `position` from `minibatch`, and the next state."""
