"""Control variates centred at the walker's own past: stochastic variance-reduced gradients."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import jax

from numpyro_sgmcmc.checks import check_count
from numpyro_sgmcmc.gradient.base import AbstractGradient, Anchor, Estimate
from numpyro_sgmcmc.gradient.fixed_point import controlled_estimate
from numpyro_sgmcmc.types import Minibatch, Plate, StochasticPotential, WholeData


@final
@partial(jax.tree_util.register_dataclass, data_fields=[], meta_fields=["period"])
@dataclass(frozen=True)
class SVRG(AbstractGradient):
    """The minibatch gradient less its own error at the position `period` transitions ago at most.

    Estimates grad U(z) by grad U_S(z) - grad U_S(a) + grad U(a) as `FixedPoint` does, with a the
    walker's position at the last renewal, each a pass over the whole data (Dubey et al. 2016,
    "Variance reduction in stochastic gradient Langevin dynamics", algorithm 1). No mode is searched
    for, and none need exist; the noise at a typical point is about twice a fixed point's once the
    walker has forgotten a, and less before.

    Vectorised chains are renewed together. Renewals fall between MCMC iterations: with
    `num_steps` > 1 the period is rounded down to a whole number of iterations, one at the least.

    Args:
        period: transitions between two renewals; None is one epoch, N / B rounded up.

    Raises:
        TypeError: where `period` is no integer.
        ValueError: where it is not positive.
    """

    period: int | None = None
    is_control_variate: ClassVar[bool] = True
    gradients_per_step: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if self.period is not None:
            check_count("period", self.period)

    def init(self, whole: WholeData, position: jax.Array, anchor: Anchor | None) -> Anchor:
        """Return the walker's position, with U and grad U of the whole data there."""
        return Anchor(position, *whole.value_and_grad(position))

    def estimate(
        self,
        potential: StochasticPotential,
        position: jax.Array,
        minibatch: Minibatch,
        state: Anchor,
    ) -> tuple[Estimate, Anchor]:
        """Return the controlled estimate."""
        return controlled_estimate(potential, position, minibatch, state), state

    def renewal_period(self, plates: dict[str, Plate]) -> int | None:
        """Return `period`, or the transitions of one epoch of the plate that has the longest."""
        if self.period is not None:
            return self.period
        return max((-(-size // batch) for size, batch in plates.values()), default=None)
