"""Step-size schedules: functions of the transition count. Optax's schedules work as they are."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.checks import check_count, check_number

Schedule: TypeAlias = Callable[[Any], Any]


@final
@dataclass(frozen=True)
class polynomial:
    """Polynomial decay h_l = a (b + l)^(-gamma), l = 0, 1, 2, ...

    With 0 < gamma < 1 the sum of steps diverges and weighted averages are consistent
    (papers/000, corollary 6). For an integrator of order K the best gamma is 1 / (K + 1) for the
    bias and 1 / (2 K + 1) for the mean squared error (papers/000, remark 7).

    Args:
        a: scale, in units of the step size h of dz = -grad U dt + sqrt(2) dW.
        b: offset of the count, positive.
        gamma: exponent, non-negative.

    Raises:
        ValueError: where an argument is negative, zero (a, b) or not finite.
    """

    a: float
    b: float = 1.0
    gamma: float = 1 / 3

    def __post_init__(self) -> None:
        check_number("a", self.a)
        check_number("b", self.b)
        check_number("gamma", self.gamma, allow_zero=True)

    def __call__(self, count: Any) -> jax.Array:
        """Return the step size of transition number `count`."""
        return self.a * (self.b + jnp.asarray(count, jnp.result_type(float))) ** -self.gamma


@final
@dataclass(frozen=True)
class cyclical:
    """Cosine cycles h_l = h_0 / 2 (cos(pi (l mod M) / M) + 1) (Zhang et al., 2020).

    Args:
        initial: h_0, the step size at the start of each cycle.
        length: M, the number of transitions in a cycle.

    Raises:
        TypeError: where `length` is not an integer.
        ValueError: where an argument is not positive.
    """

    initial: float
    length: int

    def __post_init__(self) -> None:
        check_number("initial", self.initial)
        check_count("length", self.length)

    def __call__(self, count: Any) -> jax.Array:
        """Return the step size of transition number `count`."""
        phase = (count % self.length) / self.length
        return 0.5 * self.initial * (jnp.cos(jnp.pi * phase) + 1.0)
