"""Interface of dynamics: how gradient and noise become a displacement."""

from abc import ABC, abstractmethod
from typing import Any

import jax
from jax.typing import ArrayLike


class AbstractDynamics(ABC):
    """A discretised diffusion that leaves exp(-U / T) invariant as its step size goes to 0.

    Dynamics never see the position: they turn a gradient (d,) and a Brownian increment
    ~ N(0, T h I) (d,) into a displacement (d,). The temperature T reaches them only through the
    increment and the first momentum.
    """

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
    def largest_step_size(
        self, curvature: ArrayLike, noise: ArrayLike, tolerance: float
    ) -> jax.Array:
        """Return the largest step size whose relative error of a variance is about `tolerance`.

        To leading order, half of the tolerance for the discretisation at `curvature` (the largest
        eigenvalue of the Hessian), half for gradient noise of covariance up to `noise`.
        """

    @abstractmethod
    def relaxation_steps(self, curvature: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return the number of steps in which a mode of `curvature` forgets its start."""
