"""The time that the process with the servers spends on a transition, by number of servers.

    python -m benchmarks.staleness.driver_time

The gradients cost nothing, so that the workers answer as fast as they can. Times of the processor,
unlike those of the clock, hardly depend on what else the machine does. The thread that runs the
servers bounds how many transitions all of them take in a second; Ray's own threads run beside it.
"""

from time import perf_counter, process_time, thread_time

from benchmarks.staleness.cheap import run
from numpyro_sgmcmc.distributed.messages import Request
from numpyro_sgmcmc.distributed.ray_pool import RayPool

CASES = [(1, 1), (1, 2), (2, 2), (4, 4)]
"""Servers and workers."""
BOUND, TRANSITIONS, EARLY = 16, 2_000, 400
"""Largest age; transitions of all servers together, and those of them that are left out."""
CLOCKS = {"thread": thread_time, "process": process_time, "clock": perf_counter}


class Timed:
    """Reads the clocks after the early transitions and after all."""

    def __init__(self) -> None:
        self._count = 0
        self.read: list[list[float]] = []

    def __call__(self, pool: RayPool, request: Request) -> None:
        self._count += 1
        if self._count in (EARLY, TRANSITIONS):
            self.read.append([clock() for clock in CLOCKS.values()])


def measured(servers: int, workers: int) -> dict[str, float]:
    """Return the seconds of a transition by each clock."""
    timed = Timed()
    run(servers, workers, BOUND, TRANSITIONS // servers, timed)
    first, last = timed.read
    each = [(late - early) / (TRANSITIONS - EARLY) for early, late in zip(first, last, strict=True)]
    return dict(zip(CLOCKS, each, strict=True))


def main() -> None:
    """Print the times."""
    for servers, workers in CASES:
        found = measured(servers, workers)
        words = ", ".join(f"{name} {1e3 * seconds:.2f} ms" for name, seconds in found.items())
        print(f"{servers} servers, {workers} workers: {words}")


if __name__ == "__main__":
    main()
