"""Interface of dynamics, which turn gradient and noise into a displacement."""

from abc import ABC, abstractmethod
from dataclasses import is_dataclass, replace
from typing import Any, ClassVar, Self

import jax
from jax.typing import ArrayLike


class AbstractDynamics(ABC):
    """A discretised diffusion that leaves exp(-U / T) invariant as its step size goes to 0.

    Dynamics do not use the position. They turn a gradient (d,) and a Brownian increment
    ~ N(0, T h I) (d,), or several, into a displacement (d,). They depend on the temperature T only
    through the increment and the first momentum.

    Attributes:
        has_momentum: whether there is a momentum. A preconditioner that depends on the position
            requires dynamics without a momentum, because its drift is that of Langevin dynamics.
        has_kinetic_temperature: whether there is a kinetic temperature that varies. That of a
            momentum of fixed length is constant.
        can_optimise: whether a temperature of 0 is possible.
        bias_powers: the two lowest powers of h in the bias of the position's stationary
            distribution, with exact gradients. Gradient noise adds a term in h and one in h^2.
        increments_per_step: number k of independent Brownian increments that a step needs. If there
            are several, `step` gets them as (k, d).
        has_friction: whether `friction` is a parameter of these dynamics.
        friction: D, in 1 / time; None if it has not been chosen or does not exist.
        takes_compensation: whether `compensation` is a parameter of these dynamics.
        compensation: c, friction per unit of step size, in 1 / time^2, scalar or (d,): the momentum
            is damped with D + h c, but the noise stays that of D. This balances the negative
            friction of gradients that are some transitions old. None is zero.
    """

    has_momentum: ClassVar[bool] = False
    has_kinetic_temperature: ClassVar[bool] = False
    can_optimise: ClassVar[bool] = True
    bias_powers: ClassVar[tuple[int, int]] = (1, 2)
    increments_per_step: ClassVar[int] = 1
    has_friction: ClassVar[bool] = False
    friction: Any = None
    takes_compensation: ClassVar[bool] = False
    compensation: Any = None

    @property
    def order(self) -> int:
        """The order in h of the position's stationary bias with exact gradients."""
        return self.bias_powers[0]

    @property
    def needs_friction(self) -> bool:
        """Whether a friction must be chosen before the first step."""
        return self.has_friction and self.friction is None

    def with_friction(self, friction: Any) -> Self:
        """Return the dynamics with this friction if they need one, else unchanged."""
        if not self.needs_friction:
            return self
        assert is_dataclass(self)
        return replace(self, friction=friction)

    @abstractmethod
    def init(self, key: jax.Array, position: jax.Array, temperature: float) -> Any:
        """Return a draw of the auxiliary variables, such as a momentum, as a pytree."""

    @abstractmethod
    def lookahead(self, aux: Any, step_size: jax.Array, position: jax.Array) -> jax.Array:
        """Return the offset from the position to the point at which the gradient is evaluated."""

    @abstractmethod
    def step(
        self, aux: Any, gradient: jax.Array, increment: jax.Array, step_size: jax.Array
    ) -> tuple[jax.Array, Any]:
        """Return the displacement of one step, and the next auxiliary variables."""

    @abstractmethod
    def heating(self, noise: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return the variance that gradient noise adds to a step, relative to the injected noise.

        The gradient noise has the variance `noise`, and T = 1. To leading order it is the relative
        error of the stationary variance. It is also the share of the increment's variance that a
        noise correction removes.
        """

    @abstractmethod
    def largest_step_size(self, curvature: ArrayLike, tolerance: float) -> jax.Array:
        """Return the largest step size whose relative error of any variance is `tolerance`.

        This holds to leading order, with exact gradients, for the largest eigenvalue `curvature` of
        the Hessian. `heating` returns the error that gradient noise adds.
        """

    def linearised(self) -> "AbstractDynamics":
        """Return dynamics whose step is linear, with the same stationary variance on a Gaussian.

        Dynamics that keep the kinetic energy at its target return others than themselves. These
        need the friction that `balanced` in `stationary` finds.
        """
        return self

    def with_correction(self, share: float) -> "AbstractDynamics":
        """Return dynamics for a noise correction that removes this share of the injected noise.

        It is a mean over all directions. Only the steps of `LinearMicrocanonical` depend on it.
        """
        return self

    def kinetic_temperature(self, aux: Any) -> jax.Array | None:
        """Return p . p / d, whose mean is T, or None where it does not vary."""
        return None

    @abstractmethod
    def relaxation_steps(self, curvature: ArrayLike, step_size: ArrayLike) -> jax.Array:
        """Return the relaxation time, in steps, along a direction of this curvature."""
