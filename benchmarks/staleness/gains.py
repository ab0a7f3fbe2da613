"""The gain in time of 2, 4 and 8 workers over one, at the same bias.

The target is a Gaussian of variance 1, the kernel SGHMC by splitting. A run has the largest step
size whose stationary variance is wrong by at most `BIAS`. Its time is that of a transition, times
the transitions after which the mean of the draws is as precise as one independent draw's. These
are the sum of all autocovariances of z, and follow from its recursion: without a trend in p,

    sum of h (z_l + e_l) = sum of sqrt(2 D) dW_l,    so they are V + 2 D / h,

whatever the ages, and with each remedy. Ages that vary also act as gradient noise (the `v` of
`stationary.relative_variance`). It enters the bias, and is left out here: it is below 0.1 % of V.
"""

from functools import cache

import jax.numpy as jnp
import numpy as np

from benchmarks.staleness.protocol import seen, slowest
from numpyro_sgmcmc.dynamics import Splitting
from numpyro_sgmcmc.preconditioner import Identity
from numpyro_sgmcmc.staleness import (
    AbstractRemedy,
    CurvatureRemedy,
    FrictionRemedy,
    ageing,
    observed,
)
from numpyro_sgmcmc.stationary import relative_variance

NOISE = 10.0
"""V, the variance of the gradient's noise, in the unit of the curvature."""
FRICTION = 1.5
BIAS = 0.1
VARYING = 0.5
"""Share of a gradient's time that is exponentially distributed, where times vary."""
ONE = np.ones(1)
SMALLEST, FACTOR, HALVINGS = 2e-3, 1.25, 14


def variance(h: float, noise: float, ages: np.ndarray, remedy: str | None) -> float:
    """Return the stationary variance with gradients of these ages."""
    dynamics, delay = Splitting(friction=FRICTION), observed(ages)
    remedies: dict[str | None, AbstractRemedy | None] = {
        None: None,
        "friction": FrictionRemedy(jnp.ones(1), jnp.asarray(delay.mean)),
        "curvature": CurvatureRemedy(Identity()),
    }
    given = ageing(delay, remedies[remedy], dynamics, ONE, ONE)
    return float(relative_variance(dynamics, h, ONE, noise * ONE, 0 * ONE, given)[0])


def step_size(noise: float, ages: np.ndarray, remedy: str | None) -> float:
    """Return the largest step size up to which the variance is right within `BIAS`."""

    def is_right(h: float) -> bool:
        return abs(variance(h, noise, ages, remedy) - 1) <= BIAS

    low, high = SMALLEST, FACTOR * SMALLEST
    assert is_right(low)
    while is_right(high):
        low, high = high, FACTOR * high
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_right(middle) else (low, middle)
    return low


def transitions(noise: float, ages: np.ndarray, remedy: str | None = None) -> float:
    """Return the transitions whose mean is as precise as one independent draw."""
    return noise + 2 * FRICTION / step_size(noise, ages, remedy)


FRESH = np.zeros(1, int)


@cache
def alone() -> float:
    """Return the time of one worker; the mean time of a gradient is 1."""
    return transitions(NOISE, FRESH)


def asynchronous(workers: int, varying: float, remedy: str | None = None) -> float:
    """Return the gain of a server whose gradients are as old as `protocol.py` says."""
    ages, seconds = seen(workers, varying)
    return alone() / (transitions(NOISE, ages, remedy) * seconds)


def synchronous(workers: int, varying: float) -> float:
    """Return the gain of the mean of all workers' gradients, which waits for the slowest."""
    return alone() / (transitions(NOISE / workers, FRESH) * slowest(workers, varying))


def independent(workers: int, varying: float, warmup: float = 0.0) -> float:
    """Return the gain of one chain for each worker.

    Args:
        workers: their number.
        varying: has no influence, as chains do not wait for each other.
        warmup: of each chain, in the time of one worker's draws.
    """
    return (1 + warmup) / (1 / workers + warmup)
