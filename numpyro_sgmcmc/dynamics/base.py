"""Interface of dynamics: how gradient and noise become a displacement."""

from abc import ABC, abstractmethod
from dataclasses import is_dataclass, replace
from typing import Any, ClassVar, Self

import jax
from jax.typing import ArrayLike


class AbstractDynamics(ABC):
    """A discretised diffusion that leaves exp(-U / T) invariant as its step size goes to 0.

    Dynamics never see the position: they turn a gradient (d,) and a Brownian increment
    ~ N(0, T h I) (d,) into a displacement (d,). The temperature T reaches them only through the
    increment and the first momentum.

    Attributes:
        has_momentum: whether there is a kinetic temperature. A preconditioner that depends on the
            position needs dynamics without: its drift is that of Langevin dynamics.
        bias_powers: the two lowest powers of h in the bias of the position's stationary
            distribution, with exact gradients. Gradient noise adds a term in h and one in h^2.
        has_friction: whether `friction` is a parameter of these dynamics.
        friction: D, in 1 / time; None where it has not been chosen or does not exist.
    """

    has_momentum: ClassVar[bool] = False
    bias_powers: ClassVar[tuple[int, int]] = (1, 2)
    has_friction: ClassVar[bool] = False
    friction: Any = None

    @property
    def order(self) -> int:
        """The order in h of the position's stationary bias with exact gradients."""
        return self.bias_powers[0]

    @property
    def needs_friction(self) -> bool:
        """Whether a friction must be chosen before the first step."""
        return self.has_friction and self.friction is None

    def with_friction(self, friction: Any) -> Self:
        """Return these dynamics with this friction where they need one, else unchanged."""
        if not self.needs_friction:
            return self
        assert is_dataclass(self)
        return replace(self, friction=friction)

    @abstractmethod
    def init(self, key: jax.Array, position: jax.Array, temperature: float) -> Any:
        """Return the auxiliary variables (a momentum, say) at equilibrium, a pytree."""

    @abstractmethod
    def lookahead(self, aux: Any, step_size: jax.Array, position: jax.Array) -> jax.Array:
        """Return the offset from the position at which the gradient is wanted."""

    @abstractmethod
    def step(
        self, aux: Any, gradient: jax.Array, increment: jax.Array, step_size: jax.Array
    ) -> tuple[jax.Array, Any]:
        """Return the displacement of one step, and the next auxiliary variables."""

    @abstractmethod
    def heating(self, noise: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return the variance that gradient noise adds to a step, over that of its increment.

        For gradient noise of variance `noise` and T = 1: to leading order the relative excess of
        the stationary variance, and the share of the increment that a noise correction leaves out.
        """

    @abstractmethod
    def largest_step_size(self, curvature: ArrayLike, tolerance: float) -> jax.Array:
        """Return the largest step size that changes no variance by more than about `tolerance`.

        To leading order, at `curvature` (the largest eigenvalue of the Hessian), with exact
        gradients; `heating` says what their noise adds.
        """

    def linearised(self) -> "AbstractDynamics":
        """Return dynamics with a linear step and the same stationary variance on a Gaussian."""
        return self

    def kinetic_temperature(self, aux: Any) -> jax.Array | None:
        """Return p . p / d, whose mean is T, or None for dynamics without a momentum."""
        return None

    @abstractmethod
    def relaxation_steps(self, curvature: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return the number of steps in which a mode of `curvature` forgets its start."""
