"""The ages of a server's gradients and the time of its transitions, with workers that take a time.

The account of requests is the package's own; only the clock is simulated.
"""

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from numpyro_sgmcmc.distributed.ledger import Ledger
from numpyro_sgmcmc.distributed.messages import Answer, Request

MAX_STALENESS = 16
"""The default of `AsyncMCMC`."""
TRANSITIONS = 20_000
"""The relative standard error of the time of a transition is about 0.4 % at most."""
EARLY = 100
"""Transitions at the beginning that are left out, when workers have begun together."""
NOTHING = np.zeros((1, 1), np.float32)
VALUES = np.zeros((1, 2), np.float32)


class Seen(NamedTuple):
    """The age of each transition's gradient, and the mean time of a transition."""

    ages: np.ndarray
    seconds: float


def seen(workers: int, varying: float) -> Seen:
    """Return what one server sees of its workers.

    Args:
        workers: their number.
        varying: share of the time of a gradient that is exponentially distributed; the mean is 1.
    """
    rng = np.random.default_rng(0)
    times = 1 - varying + varying * rng.standard_exponential(TRANSITIONS)
    ledger, flying, ages = Ledger(MAX_STALENESS, TRANSITIONS), [], []
    now = begin = 0.0
    while ledger.taken < TRANSITIONS:
        while len(flying) < workers and ledger.room(1):
            request = Request(0, ledger.asked, 1, 0, NOTHING[0], NOTHING, [])
            ledger = ledger.sent(request)
            heappush(flying, (now + times[request.step], request.step, request))
        now, step, request = heappop(flying)
        ledger, reason = ledger.received(request, Answer(0, step, 0, VALUES, 0.0))
        assert reason is None
        while (ready := ledger.ready()) is not None:
            ages += ready.ages
            ledger = ledger.used()
            begin = now if ledger.taken == EARLY else begin
    return Seen(np.array(ages[EARLY:]), (now - begin) / (TRANSITIONS - EARLY))


def slowest(workers: int, varying: float) -> float:
    """Return the mean time of the slowest of so many gradients, exactly."""
    return 1 - varying + varying * float(np.sum(1 / np.arange(1, workers + 1)))
