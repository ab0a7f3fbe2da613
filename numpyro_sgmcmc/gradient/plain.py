"""The plain minibatch gradient."""

from dataclasses import dataclass
from typing import ClassVar, final

import jax

from numpyro_sgmcmc.gradient.base import AbstractGradient, Anchor, Estimate
from numpyro_sgmcmc.pytree import as_pytree
from numpyro_sgmcmc.types import Minibatch, StochasticPotential, WholeData


@final
@as_pytree()
@dataclass(frozen=True)
class Plain(AbstractGradient):
    """The gradient of the minibatch potential: grad U_S(z).

    It is unbiased (Brosse, Durmus and Moulines 2018, equation 3, https://arxiv.org/abs/1811.10072).
    Its covariance is about (N / B) H where the posterior has its mass, and also at the mode, where
    H is the Hessian of U.
    """

    has_constant_state: ClassVar[bool] = True
    can_be_remote: ClassVar[bool] = True

    def init(self, whole: WholeData, position: jax.Array, anchor: Anchor | None) -> tuple[()]:
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
