"""What a transition of `AsyncMCMC` costs beside a bare round trip of Ray, in one run.

    python -m benchmarks.staleness.round_trip

The gradients cost nothing. Blocks of transitions and of bare round trips, which return a message
of the same length, alternate on the same worker. They are measured with one transition a request,
and with as many as `AsyncMCMC` takes by itself where gradients are cheap and may be 16 transitions
old.
"""

import argparse
from statistics import median
from time import perf_counter

from benchmarks.staleness.cheap import run
from numpyro_sgmcmc.distributed.messages import Request, packed
from numpyro_sgmcmc.distributed.ray_pool import RayPool

BLOCK = 50
EARLY = 4
"""Blocks that are left out."""

OLDEST = 16
"""The largest age of a gradient that `AsyncMCMC` allows by default."""


class Alternating:
    """Takes bare round trips after each block of requests."""

    def __init__(self) -> None:
        self._seconds: list[float] = []
        self._count, self._last = 0, 0.0
        self.requests: list[float] = []
        self.bare: list[float] = []

    def __call__(self, pool: RayPool, request: Request) -> None:
        self._seconds.append(perf_counter() - self._last)
        self._count += 1
        if self._count % BLOCK == 0:
            self.requests.append(median(self._seconds[1:]))
            self.bare.append(pool.round_trip(packed(request), BLOCK))
            self._seconds = []
        self._last = perf_counter()


def measured(blocks: int, bound: int, size: int) -> tuple[list[float], list[float]]:
    """Return the median seconds of requests, and of bare round trips, by block."""
    alternating = Alternating()
    run(1, 1, bound, blocks * BLOCK * size, alternating, size)
    return alternating.requests[EARLY:], alternating.bare[EARLY:]


def main() -> None:
    """Print medians, and the median of the blocks' ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=40)
    blocks = parser.parse_args().blocks
    for bound in (0, OLDEST):
        size = bound + 1
        both = measured(blocks, bound, size)
        ratio = median(one / size / other for one, other in zip(*both, strict=True))
        ours, bare = (1e3 * median(each) for each in both)
        print(
            f"{size} transitions a request: {ours / size:.3f} ms each, bare round trip {bare:.2f}"
            f" ms, ratio {ratio:.2f}"
        )


if __name__ == "__main__":
    main()
