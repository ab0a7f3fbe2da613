"""From a user's `delay` and `max_staleness` to the distribution of the ages of gradients."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.staleness.delay import (
    COUNTS,
    AbstractDelay,
    FixedDelay,
    GeometricDelay,
    ScheduledDelay,
    check_age,
)

REMEDY = (
    "Use an integer, UniformDelay(largest), GeometricDelay(average, largest), or a function of the"
    " transition count with max_staleness=..."
)


def delay_of(delay: Any, max_staleness: Any) -> AbstractDelay:
    """Return the distribution.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if a bound is missing or exceeded.
    """
    bound = None if max_staleness is None else check_age("max_staleness", max_staleness)
    if isinstance(delay, type):
        raise TypeError(f"Expected `delay` to be an instance; got the class {delay!r}. {REMEDY}")
    if isinstance(delay, GeometricDelay) and delay.largest is None:
        return replace(delay, largest=_needed(bound, delay))
    if isinstance(delay, AbstractDelay):
        return _within(delay, bound)
    if callable(delay):
        return _scheduled(delay, _needed(bound, delay))
    if isinstance(delay, bool) or not isinstance(delay, int | np.integer):
        raise TypeError(
            f"Expected `delay` to be an age or a distribution of ages; got {delay!r}. {REMEDY}"
        )
    return _within(FixedDelay(check_age("delay", delay)), bound)


def _within(delay: AbstractDelay, bound: int | None) -> AbstractDelay:
    if bound is not None and delay.largest > bound:
        raise ValueError(
            f"Expected ages of at most max_staleness = {bound}; got {delay!r}, whose largest is"
            f" {delay.largest}. Leave `max_staleness` out, or reduce the delay."
        )
    return delay


def _needed(bound: int | None, delay: Any) -> int:
    if bound is None:
        raise ValueError(
            f"Expected `max_staleness` with {delay!r}; got None. Pass the largest age m: each chain"
            " keeps m + 1 positions."
        )
    return bound


def _scheduled(function: Any, bound: int) -> ScheduledDelay:
    ages = np.asarray(jax.vmap(lambda count: jnp.asarray(function(count)))(jnp.arange(COUNTS)))
    if ages.shape != (COUNTS,) or not np.issubdtype(ages.dtype, np.integer):
        raise TypeError(
            "Expected a function from a transition count to an integer age; got values of shape"
            f" {ages.shape[1:]} and type {ages.dtype}. Use JAX's integer operations, such as"
            " `lambda count: count % 4`."
        )
    if ages.min() < 0 or ages.max() > bound:
        raise ValueError(
            f"Expected ages from 0 to max_staleness = {bound}; got {ages.min()} to {ages.max()} in"
            f" the first {COUNTS:,} transitions. Raise `max_staleness`, or change the function."
        )
    return ScheduledDelay(function, bound)
