"""Interface of dynamics: how gradient and noise become a displacement."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import jax
from jax.typing import ArrayLike


class AbstractDynamics(ABC):
    """A discretised diffusion that leaves exp(-U / T) invariant as its step size goes to 0.

    Dynamics never see the position: they turn a gradient (d,) and a Brownian increment
    ~ N(0, T h I) (d,) into a displacement (d,). The temperature T reaches them only through the
    increment and the first momentum.

    Attributes:
        has_momentum: whether there is a kinetic temperature.
    """

    has_momentum: ClassVar[bool] = False

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
        """Return the dynamics whose step is linear and has this one's law on a Gaussian."""
        return self

    def kinetic_temperature(self, aux: Any) -> jax.Array | None:
        """Return p . p / d, whose mean is T, or None for dynamics without a momentum."""
        return None

    @abstractmethod
    def relaxation_steps(self, curvature: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return the number of steps in which a mode of `curvature` forgets its start."""
