"""Interface of preconditioners.

In y the gradient is S' g, and a displacement d of y moves z by S d. Langevin dynamics in y are
therefore dz = -S S' grad U dt + sqrt(2) S dW, which leaves exp(-U) invariant for every constant S.
If S S' is near the inverse Hessian of U, the posterior is nearly isotropic in y. If S depends on z,
dz has the further term div (S S') dt, the preconditioner's drift.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import jax

from numpyro_sgmcmc.types import Minibatch, StochasticPotential


class AbstractPreconditioner(ABC):
    """A linear map S from y to the flat unconstrained position z, constant or varying in a run.

    Attributes:
        is_constant: whether S is constant. If not, Langevin dynamics are required.
    """

    is_constant: ClassVar[bool]

    @abstractmethod
    def init(self, position: jax.Array, temperature: float) -> Any:
        """Return the first state of a walker."""

    @abstractmethod
    def at(self, state: Any) -> "AbstractLinearMap":
        """Return the map S for this state."""

    @abstractmethod
    def drift(self, state: Any) -> jax.Array | None:
        """Return T div (S S'), (d,), which each step multiplies by h; None means zero."""

    @abstractmethod
    def update(
        self,
        state: Any,
        potential: StochasticPotential,
        position: jax.Array,
        minibatch: Minibatch,
        gradient: jax.Array,
        increment: jax.Array,
    ) -> Any:
        """Return the next state, given a gradient estimate, its minibatch and the increment."""


class AbstractLinearMap(AbstractPreconditioner):
    """A constant, invertible map S.

    Attributes:
        is_dense: whether S mixes coordinates.
    """

    is_constant: ClassVar[bool] = True
    is_dense: ClassVar[bool]

    @abstractmethod
    def apply(self, y: jax.Array) -> jax.Array:
        """Return S y."""

    @abstractmethod
    def transpose(self, gradient: jax.Array) -> jax.Array:
        """Return S' g, the gradient in y of a function whose gradient in z is g."""

    @abstractmethod
    def inverse(self) -> "AbstractLinearMap":
        """Return the map from z to y; the arrays must not be tracers."""

    def init(self, position: jax.Array, temperature: float) -> tuple[()]:
        """Return no state."""
        return ()

    def at(self, state: tuple[()]) -> "AbstractLinearMap":
        """Return the map itself."""
        return self

    def drift(self, state: tuple[()]) -> None:
        """Return None, because S is constant."""
        return

    def update(
        self,
        state: tuple[()],
        potential: StochasticPotential,
        position: jax.Array,
        minibatch: Minibatch,
        gradient: jax.Array,
        increment: jax.Array,
    ) -> tuple[()]:
        """Return no state."""
        return state
