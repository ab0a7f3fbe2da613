"""What a transition of `AsyncMCMC` costs beside a bare round trip of Ray, in one run.

    python -m benchmarks.staleness.round_trip

The gradients cost nothing. Blocks of transitions and of bare round trips, which return a message
of the same length, alternate on the same workers. They are measured for one server with one to
three workers, one transition a request, and for one worker with as many transitions a request as
`steps_per_request=None` takes where gradients are cheap and may be 16 transitions old.
"""

import argparse
from statistics import median
from time import perf_counter, sleep

from benchmarks.staleness.cheap import run
from numpyro_sgmcmc.distributed.messages import Request, packed
from numpyro_sgmcmc.distributed.ray_pool import RayPool

BLOCK, FIRST = 100, 10
"""Requests of a block, and those at its beginning that are left out."""
EARLY = 4
"""Blocks that are left out."""
PAUSE = 0.02
"""Seconds before bare round trips, in which the workers' answers arrive."""
CASES = ((1, 1), (2, 1), (3, 1), (1, 17))
"""Workers, and transitions of a request."""


class Alternating:
    """Takes bare round trips after each block of requests."""

    def __init__(self) -> None:
        self._count, self._first = 0, 0.0
        self.requests: list[float] = []
        self.bare: list[float] = []

    def __call__(self, pool: RayPool, request: Request) -> None:
        self._count += 1
        if self._count == FIRST:
            self._first = perf_counter()
        if self._count == BLOCK:
            self.requests.append((perf_counter() - self._first) / (BLOCK - FIRST))
            sleep(PAUSE)
            self.bare.append(pool.round_trip(packed(request), BLOCK))
            self._count = 0


def measured(blocks: int, workers: int, size: int) -> tuple[list[float], list[float]]:
    """Return the mean seconds of requests, and the median of bare round trips, by block."""
    alternating, bound = Alternating(), workers * size - 1
    run(1, workers, bound, blocks * BLOCK * size, alternating, size)
    return alternating.requests[EARLY:], alternating.bare[EARLY:]


def main() -> None:
    """Print medians over blocks, and the median of the blocks' ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=30)
    blocks = parser.parse_args().blocks
    for workers, size in CASES:
        both = measured(blocks, workers, size)
        ratio = median(one / size / other for one, other in zip(*both, strict=True))
        ours, bare = (1e3 * median(each) for each in both)
        print(
            f"{workers} workers, {size} transitions a request: {ours / size:.3f} ms each, bare"
            f" round trip {bare:.2f} ms, ratio {ratio:.2f}"
        )


if __name__ == "__main__":
    main()
