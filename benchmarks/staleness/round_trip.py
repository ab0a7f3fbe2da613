"""What a transition of `AsyncMCMC` costs beside a bare round trip of Ray, in one run.

    python -m benchmarks.staleness.round_trip

The gradients cost nothing. Blocks of transitions and of bare calls, which return a message of the
same length, alternate on the same workers. Bare calls are made one after the other, and so that
each worker always has one: the fair comparison for several workers, whose messages overlap. There
is one server, with one to three workers and one transition a request, and with one worker and as
many transitions a request as `steps_per_request=None` takes where gradients are cheap and may be 16
transitions old.
"""

import argparse
from statistics import median
from time import perf_counter, sleep
from typing import Any

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
    """Takes bare calls after each block of requests."""

    def __init__(self, workers: int) -> None:
        self._workers, self._count, self._first = workers, 0, 0.0
        self.requests: list[float] = []
        self.bare: list[float] = []
        self.overlapping: list[float] = []

    def __call__(self, pool: RayPool, request: Request) -> None:
        self._count += 1
        if self._count == FIRST:
            self._first = perf_counter()
        if self._count == BLOCK:
            self.requests.append((perf_counter() - self._first) / (BLOCK - FIRST))
            sleep(PAUSE)
            message = packed(request)
            self.bare.append(pool.round_trip(message, BLOCK))
            self.overlapping.append(overlapping_calls(pool, self._workers, message, BLOCK))
            self._count = 0


def overlapping_calls(pool: RayPool, workers: int, message: Any, times: int) -> float:
    """Return the mean seconds of bare calls, of which each worker always has one."""
    ray, actors = pool._ray, [pool._actors[worker] for worker in range(workers)]
    calls = {actor.ping.remote(message): actor for actor in actors}
    begin = perf_counter()
    for _ in range(times):
        reference = next(iter(calls)) if workers == 1 else ray.wait(list(calls))[0][0]
        ray.get(reference)
        actor = calls.pop(reference)
        calls[actor.ping.remote(message)] = actor
    seconds = (perf_counter() - begin) / times
    ray.get(list(calls))
    return seconds


def measured(blocks: int, workers: int, size: int) -> tuple[list[float], list[float], list[float]]:
    """Return the seconds of requests, bare round trips, and bare calls that overlap, by block."""
    alternating, bound = Alternating(workers), workers * size - 1
    run(1, workers, bound, blocks * BLOCK * size, alternating, size)
    requests, bare, overlapping = alternating.requests, alternating.bare, alternating.overlapping
    return requests[EARLY:], bare[EARLY:], overlapping[EARLY:]


def main() -> None:
    """Print medians over blocks, and the median of the blocks' ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=30)
    blocks = parser.parse_args().blocks
    for workers, size in CASES:
        requests, single, overlapping = measured(blocks, workers, size)
        ratio = median(one / size / other for one, other in zip(requests, single, strict=True))
        like = median(one / size / other for one, other in zip(requests, overlapping, strict=True))
        ours, bare = 1e3 * median(requests), 1e3 * median(single)
        print(
            f"workers: {workers}, transitions a request: {size}, {ours / size:.3f} ms each; bare"
            f" round trip {bare:.2f} ms, ratio {ratio:.2f}; overlapping calls"
            f" {1e3 * median(overlapping):.2f} ms, ratio {like:.2f}"
        )


if __name__ == "__main__":
    main()
