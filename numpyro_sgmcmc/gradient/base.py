"""Interface of gradient estimators."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import jax

from numpyro_sgmcmc.types import Minibatch, Plate, StochasticPotential, WholeData


class Estimate(NamedTuple):
    """Estimates of U, shape (), and of its gradient, shape (d,), at one position."""

    potential_energy: jax.Array
    gradient: jax.Array


class Anchor(NamedTuple):
    """A fixed point: its position (d,), and U () and grad U (d,) of the whole data at it."""

    position: jax.Array
    potential_energy: jax.Array
    gradient: jax.Array


class AbstractGradient(ABC):
    """Estimates the gradient of the whole-data potential from a minibatch, without bias.

    After a diverging step the walker is restored, but the estimator's state is not, because it may
    be large. An estimator must therefore never store a value that is not finite.

    Attributes:
        needs_anchor: whether `init` needs a mode of U.
        is_control_variate: whether noise is reduced by evaluating one minibatch at two positions.
            This has no effect without a subsampled plate, and is wrong for random densities.
        has_constant_state: whether the state never changes, so that walkers can share it. For other
            estimators the warm-up runs its walkers with `FixedPoint`.
        can_be_remote: whether an estimate depends only on a position, a minibatch and a state that
            is constant between renewals. It may then be computed by another process, and used
            later.
        needs_independent_minibatches: whether the estimate is unbiased only if the rows do not
            depend on the state.
        gradients_per_step: number of minibatch gradients that one `estimate` computes.
        anchor: the user's anchor (unconstrained values by site name), or None.
    """

    needs_anchor: ClassVar[bool] = False
    is_control_variate: ClassVar[bool] = False
    has_constant_state: ClassVar[bool] = False
    can_be_remote: ClassVar[bool] = False
    needs_independent_minibatches: ClassVar[bool] = False
    gradients_per_step: ClassVar[int] = 1
    anchor: dict[str, Any] | None = None

    @abstractmethod
    def init(self, whole: WholeData, position: jax.Array, anchor: Anchor | None) -> Any:
        """Return the first state of a walker.

        Args:
            whole: one-time passes over the whole data.
            position: the walker's first position, (d,).
            anchor: a mode if `needs_anchor` is true, else None.

        Raises:
            ValueError: if the estimator does not support this model.
        """

    @abstractmethod
    def estimate(
        self, potential: StochasticPotential, position: jax.Array, minibatch: Minibatch, state: Any
    ) -> tuple[Estimate, Any]:
        """Return the estimate at `position` from `minibatch`, and the next state."""

    def renewal_period(self, plates: dict[str, Plate]) -> int | None:
        """Return the number of transitions after which `init` is called again; None for never."""
        return None
