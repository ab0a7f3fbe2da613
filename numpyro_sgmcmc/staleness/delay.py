"""Distributions of the age of a gradient, in transitions."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.checks import check_number
from numpyro_sgmcmc.cpu import random

COUNTS = 4_096
"""Transitions over which the frequencies of a function's ages are counted."""


class AbstractDelay(ABC):
    """The distribution of the age of a transition's gradient, independent of the walker.

    Attributes:
        largest: m, the largest age.
    """

    largest: int

    @abstractmethod
    def probabilities(self) -> np.ndarray:
        """Return the probabilities of the ages 0, 1, ..., m, (m + 1,)."""

    @property
    def mean(self) -> float:
        """The mean age."""
        return float(self.probabilities() @ np.arange(self.largest + 1))

    @property
    def is_random(self) -> bool:
        """Whether `draw` needs a key."""
        return bool(np.count_nonzero(self.probabilities()) > 1)

    def draw(self, key: jax.Array | None, count: jax.Array) -> jax.Array:
        """Return the age at transition number `count`, int32.

        Args:
            key: a key if `is_random` is true, else None.
            count: number of transitions before this one.
        """
        weights = self.probabilities()
        if key is None:
            return jnp.asarray(int(np.argmax(weights)), jnp.int32)
        ends = jnp.asarray(np.cumsum(weights)[:-1], jnp.float32)
        point = random.uniform(key, (1,), jnp.float32, 0.0, 1.0)
        return jnp.sum(ends <= point).astype(jnp.int32)


@final
@dataclass(frozen=True)
class FixedDelay(AbstractDelay):
    """The same age at every transition.

    Several workers that take equally long and are served in turn give it: w workers, age w - 1.

    Args:
        age: in transitions.
    """

    age: int

    @property
    def largest(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The age."""
        return self.age

    def probabilities(self) -> np.ndarray:
        """Return zeros, and one at the age."""
        return np.eye(self.age + 1)[self.age]


@final
@dataclass(frozen=True)
class UniformDelay(AbstractDelay):
    """Ages 0, 1, ..., m with equal probabilities, independent at each transition.

    Args:
        largest: m.

    Raises:
        TypeError: if `largest` is not an integer.
        ValueError: if it is negative.
    """

    largest: int

    def __post_init__(self) -> None:
        check_age("largest", self.largest)

    def probabilities(self) -> np.ndarray:
        """Return 1 / (m + 1) for each age."""
        return np.full(self.largest + 1, 1 / (self.largest + 1))


@final
@dataclass(frozen=True)
class GeometricDelay(AbstractDelay):
    """Ages k with probabilities in proportion to r^k up to m, independent at each transition.

    r = a / (1 + a) is the ratio of a geometric distribution of mean a. Large ages are left out, so
    the mean of this distribution, `mean`, is below a.

    Args:
        average: a, the mean age without the bound.
        largest: m. None takes the `max_staleness` of `StaleGradient`.

    Raises:
        TypeError: if `average` is not a number, or `largest` is not an integer.
        ValueError: if one is negative.
    """

    average: float
    largest: int | None = None  # pyright: ignore[reportIncompatibleVariableOverride]

    def __post_init__(self) -> None:
        check_number("average", self.average, allow_zero=True)
        if self.largest is not None:
            check_age("largest", self.largest)

    def probabilities(self) -> np.ndarray:
        """Return r^k, normalised."""
        assert self.largest is not None
        ratio = self.average / (1 + self.average)
        weights = ratio ** np.arange(self.largest + 1)
        return weights / weights.sum()


@final
@dataclass(frozen=True)
class ScheduledDelay(AbstractDelay):
    """Ages that a function of the transition count gives.

    `probabilities` are the frequencies over the first 4,096 transitions. Theory takes the ages as
    independent draws with these frequencies.

    Args:
        function: from a transition count, a scalar integer array, to an age.
        largest: m. Larger ages are reduced to it, and negative ones become 0.
    """

    function: Callable[[Any], Any]
    largest: int

    @property
    def is_random(self) -> bool:
        """False: the function alone tells the age."""
        return False

    def probabilities(self) -> np.ndarray:
        """Return the frequencies of the function's values over its first counts."""
        with jax.ensure_compile_time_eval():
            ages = jax.vmap(lambda count: self.draw(None, count))(jnp.arange(COUNTS))
        return np.bincount(np.asarray(ages), minlength=self.largest + 1) / COUNTS

    def draw(self, key: jax.Array | None, count: jax.Array) -> jax.Array:
        """Return the function's value within the bounds, int32."""
        age = jnp.asarray(self.function(count))
        return jnp.clip(age, 0, self.largest).astype(jnp.int32)


def check_age(name: str, value: Any) -> int:
    """Return `value` as an int if it is a non-negative integer.

    Raises:
        TypeError: if `value` is not an integer.
        ValueError: if it is negative.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"Expected `{name}` to be a non-negative integer; got {value!r}.")
    if value < 0:
        raise ValueError(f"Expected `{name}` to be a non-negative integer; got {value!r}.")
    return int(value)
