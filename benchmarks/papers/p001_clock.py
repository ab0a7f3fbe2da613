"""A clock for a server and its workers: the age of each gradient and the time of each transition.

As in Chen et al. (2016), algorithm 2: the server takes gradients in the order of their arrival and
sends the new position to the worker that the gradient came from. Times are drawn, not measured.
"""

from heapq import heapify, heapreplace
from typing import NamedTuple

import numpy as np

VARYING = 0.5
"""Share of a gradient's time that is exponentially distributed; the rest is constant."""
SERVING = 0.05
"""Time of the server for a gradient: a message of 0.5 ms where a gradient takes 10 ms."""


class Clock(NamedTuple):
    """What a server saw.

    Attributes:
        ages: transitions between the position of each gradient and its use, (count,).
        times: when each transition was done, in mean times of a gradient, (count,).
        workers: whose gradient each transition took, (count,).
    """

    ages: np.ndarray
    times: np.ndarray
    workers: np.ndarray


def asynchronous(workers: int, count: int, seed: int = 0) -> Clock:
    """Return the ages and times of `count` transitions of one server."""
    durations = _durations((count + workers,), seed)
    # Time of arrival, worker's number (which decides between equal times), position's transition.
    flying = [(float(durations[w]), w, 0) for w in range(workers)]
    heapify(flying)
    ages, times, whose = np.zeros(count, int), np.zeros(count), np.zeros(count, int)
    now = 0.0
    for step in range(count):
        arrival, worker, sent = flying[0]
        now = max(now, arrival) + SERVING
        ages[step], times[step], whose[step] = step - sent, now, worker
        heapreplace(flying, (now + float(durations[workers + step]), worker, step + 1))
    return Clock(ages, times, whose)


def synchronous(workers: int, count: int, seed: int = 0) -> Clock:
    """Return times of transitions that wait for one gradient of each worker."""
    slowest = _durations((count, workers), seed).max(1)
    none = np.zeros(count, int)
    return Clock(none, np.cumsum(slowest + workers * SERVING), none)


def _durations(shape: tuple[int, ...], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return 1 - VARYING + VARYING * rng.standard_exponential(shape)
