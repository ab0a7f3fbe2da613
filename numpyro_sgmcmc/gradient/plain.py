"""The plain minibatch gradient."""

from dataclasses import dataclass
from typing import ClassVar, final

import jax

from numpyro_sgmcmc.gradient.base import AbstractGradient, Estimate
from numpyro_sgmcmc.types import Minibatch, StochasticPotential


@final
@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Plain(AbstractGradient):
    """The gradient of the minibatch potential: grad U_S(z).

    Unbiased; its covariance is about (N / B) H near the mode, whatever z (papers/004, equation 3).
    """

    needs_anchor: ClassVar[bool] = False

    def init(self, anchor: None) -> tuple[()]:
        """Return no state."""
        return ()

    def estimate(
        self,
        potential: StochasticPotential,
        position: jax.Array,
        minibatch: Minibatch,
        state: tuple[()],
    ) -> tuple[Estimate, tuple[()]]:
        """Return the minibatch potential and its gradient."""
        return Estimate(*jax.value_and_grad(potential)(position, minibatch)), state
