"""Control variates centred at a past position of the walker: variance-reduced gradients."""

from dataclasses import dataclass
from typing import ClassVar, final

import jax

from numpyro_sgmcmc.checks import check_count
from numpyro_sgmcmc.gradient.base import AbstractGradient, Anchor, Estimate
from numpyro_sgmcmc.gradient.fixed_point import controlled_estimate
from numpyro_sgmcmc.pytree import as_pytree
from numpyro_sgmcmc.types import Minibatch, Plate, StochasticPotential, WholeData


@final
@as_pytree(static=("period",))
@dataclass(frozen=True)
class SVRG(AbstractGradient):
    """The minibatch gradient minus its error at a past position of the walker.

    Estimates grad U(z) by grad U_S(z) - grad U_S(a) + grad U(a), as `FixedPoint` does. Here a is
    the walker's position at the last renewal, and each renewal is a pass over the whole data
    (algorithm 1 of Dubey et al. 2016, "Variance Reduction in Stochastic Gradient Langevin
    Dynamics",
    https://papers.nips.cc/paper/6293-variance-reduction-in-stochastic-gradient-langevin-dynamics).
    It needs no mode. At a typical point the variance of the noise is about twice that of
    `FixedPoint` if z is independent of a, and smaller shortly after a renewal.

    Vectorised chains are renewed together. Renewals take place between MCMC iterations: with
    `num_steps` > 1 the period is rounded down to a whole number of iterations, at least one.

    A warm-up that chooses the step size takes z as independent of a. The step size is then safe for
    every period, and smaller than it could be with short ones.

    Args:
        period: number of transitions between two renewals. None is one epoch: N / B, rounded up.

    Raises:
        TypeError: if `period` is not an integer.
        ValueError: if it is not positive.
    """

    period: int | None = None
    is_control_variate: ClassVar[bool] = True
    can_be_remote: ClassVar[bool] = True
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
        """Return the estimate; the anchor is unchanged."""
        return controlled_estimate(potential, position, minibatch, state), state

    def renewal_period(self, plates: dict[str, Plate]) -> int | None:
        """Return `period`, or the number of transitions in the longest epoch of any plate."""
        if self.period is not None:
            return self.period
        return max((-(-size // batch) for size, batch in plates.values()), default=None)
