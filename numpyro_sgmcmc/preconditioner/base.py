"""Interface of preconditioners.

In y the gradient is S' g and a displacement d of y moves z by S d, so dz = -S S' grad U dt +
sqrt(2) S dW, which leaves exp(-U) invariant for every constant S. S with S S' near the inverse
Hessian of U makes the posterior near isotropic in y. Where S depends on z, dz has the further term
div (S S') dt: the preconditioner's drift.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import jax

from numpyro_sgmcmc.types import Minibatch, StochasticPotential


class AbstractPreconditioner(ABC):
    """A map S from y to the flat unconstrained position z, perhaps one that follows the walker.

    Attributes:
        is_constant: whether S stays the same; otherwise the dynamics must be Langevin's.
    """

    is_constant: ClassVar[bool]

    @abstractmethod
    def init(self, position: jax.Array, temperature: float) -> Any:
        """Return the first state of a walker."""

    @abstractmethod
    def at(self, state: Any) -> "AbstractLinearMap":
        """Return the S of this state."""

    @abstractmethod
    def drift(self, state: Any) -> jax.Array | None:
        """Return T div (S S'), (d,), to be taken for a time h at each step; None is zero."""

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
        """Return the next state, from a gradient estimate and what it was taken with."""


class AbstractLinearMap(AbstractPreconditioner):
    """A constant, invertible S.

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
        """Return S' g: the gradient in y of a function with gradient g in z."""

    @abstractmethod
    def inverse(self) -> "AbstractLinearMap":
        """Return the map from z to y, for a map whose arrays are concrete."""

    def init(self, position: jax.Array, temperature: float) -> tuple[()]:
        """Return no state."""
        return ()

    def at(self, state: tuple[()]) -> "AbstractLinearMap":
        """Return the map itself."""
        return self

    def drift(self, state: tuple[()]) -> None:
        """Return none: S is constant."""
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
