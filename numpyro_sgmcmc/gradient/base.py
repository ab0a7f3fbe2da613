"""Interface of gradient estimators."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import jax

from numpyro_sgmcmc.types import Minibatch, Plate, StochasticPotential, WholeData


class Estimate(NamedTuple):
    """An estimate of U (shape ()) and of its gradient (shape (d,)) at one position."""

    potential_energy: jax.Array
    gradient: jax.Array


class Anchor(NamedTuple):
    """A fixed point: its position (d,), and U () and grad U (d,) of the whole data there."""

    position: jax.Array
    potential_energy: jax.Array
    gradient: jax.Array


class AbstractGradient(ABC):
    """Estimates the gradient of the whole-data potential from a minibatch, without bias.

    A step that is refused keeps the walker but not the estimator's state, which may be too large to
    select from: an estimator never lets a value that is not finite into it.

    Attributes:
        needs_anchor: whether `init` wants a mode of U.
        is_control_variate: whether it removes noise by comparing one minibatch at two positions:
            useless without a subsampled plate, wrong for densities that are themselves random.
        has_constant_state: whether neither `estimate` nor a renewal changes the state, so that
            walkers can share one. The warm-up runs other estimators' walkers by `FixedPoint`.
        gradients_per_step: minibatch gradients that one `estimate` takes.
        anchor: the anchor that the user chose, unconstrained values by site name; None where there
            is none.
    """

    needs_anchor: ClassVar[bool] = False
    is_control_variate: ClassVar[bool] = False
    has_constant_state: ClassVar[bool] = False
    gradients_per_step: ClassVar[int] = 1
    anchor: dict[str, Any] | None = None

    @abstractmethod
    def init(self, whole: WholeData, position: jax.Array, anchor: Anchor | None) -> Any:
        """Return the first state of a walker.

        Args:
            whole: one-time passes over the whole data.
            position: where the walker starts, (d,).
            anchor: a mode where `needs_anchor` is true, else None.

        Raises:
            ValueError: where the estimator cannot serve this model.
        """

    @abstractmethod
    def estimate(
        self, potential: StochasticPotential, position: jax.Array, minibatch: Minibatch, state: Any
    ) -> tuple[Estimate, Any]:
        """Return the estimate at `position` from `minibatch`, and the next state."""

    def renewal_period(self, plates: dict[str, Plate]) -> int | None:
        """Return after how many transitions `init` is called anew; None is never."""
        return None
