"""The gradient estimator of a server: what a worker has delivered."""

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import jax

from numpyro_sgmcmc.gradient import AbstractGradient, Anchor, Estimate
from numpyro_sgmcmc.pytree import as_pytree
from numpyro_sgmcmc.staleness import CurvatureRemedy
from numpyro_sgmcmc.types import Minibatch, StochasticPotential, WholeData


class Delivery(NamedTuple):
    """An estimate of U and grad U, and the position where it was taken, (d,)."""

    estimate: Estimate
    then: jax.Array


@final
@as_pytree()
@dataclass(frozen=True)
class DeliveredEstimate(AbstractGradient):
    """The estimate in the walker's state, which a worker computed at an older position.

    With the position then, and now where the transition asks for it,

        g = g_then                     without correction,
        g = g_then + H (now - then)    with a curvature H.

    Args:
        remedy: H, or None.
    """

    remedy: CurvatureRemedy | None

    def init(self, whole: WholeData, position: jax.Array, anchor: Anchor | None) -> Any:
        """Raise an error: a server has no estimate before the first answer."""
        raise NotImplementedError("Expected a state with a worker's answer.")

    def estimate(
        self,
        potential: StochasticPotential,
        position: jax.Array,
        minibatch: Minibatch,
        state: Delivery,
    ) -> tuple[Estimate, Delivery]:
        """Return the delivered estimate; neither the potential nor the minibatch is used."""
        estimate = state.estimate
        if self.remedy is not None:
            change = self.remedy.product(position - state.then)
            estimate = estimate._replace(gradient=estimate.gradient + change)
        return estimate, state
