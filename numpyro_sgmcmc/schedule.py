"""Step-size schedules: functions of the transition count. Optax's schedules can be used as well."""

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

    With 0 < gamma < 1 the sum of the steps diverges and weighted averages are consistent (Chen,
    Ding and Carin 2015, corollary 6). For an integrator of order K the best gamma is 1 / (K + 1)
    for the bias and 1 / (2 K + 1) for the mean squared error (remark 7 there).

    References:
        Chen, Ding and Carin 2015, "On the Convergence of Stochastic Gradient MCMC Algorithms with
        High-Order Integrators", https://arxiv.org/abs/1610.06665

    Args:
        a: scale, in the units of the kernel's step size h.
        b: offset of the count, positive.
        gamma: exponent, non-negative.

    Raises:
        ValueError: if `a` or `b` is not positive, `gamma` is negative, or one is not finite.
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
    """Cosine cycles h_l = h_0 / 2 (cos(pi (l mod M) / M) + 1) (Zhang et al. 2020).

    Large steps may carry a chain to other modes, but then discretisation decides how often: shares
    of modes are not those of the posterior. `ReplicaExchange` gives these.

    References:
        Zhang, Li, Zhang, Chen and Wilson 2020, "Cyclical Stochastic Gradient MCMC for Bayesian Deep
        Learning", https://arxiv.org/abs/1902.03932

    Args:
        initial: h_0, the step size at the start of each cycle.
        length: M, the number of transitions in a cycle.

    Raises:
        TypeError: if `length` is not an integer.
        ValueError: if an argument is not positive.
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
