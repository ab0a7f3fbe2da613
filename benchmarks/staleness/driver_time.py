"""The time that the process with the servers spends on a transition, by number of servers.

    python -m benchmarks.staleness.driver_time

The gradients cost nothing, so that the workers answer as fast as they can. Times of the processor,
unlike those of the clock, hardly depend on what else the machine does. The thread that runs the
servers bounds how many transitions all of them take in a second; Ray's own threads run beside it.
"""

from time import perf_counter, process_time, thread_time

import jax
import jax.numpy as jnp

from benchmarks.staleness.round_trip import model
from numpyro_sgmcmc import SGHMCSplit, StaleGradient
from numpyro_sgmcmc.distributed.job import Asked, Counts, first_states, job_of, model_of, planned
from numpyro_sgmcmc.distributed.keeper import DrawsInMemory
from numpyro_sgmcmc.distributed.planning import share_of
from numpyro_sgmcmc.distributed.pool import AbstractPool
from numpyro_sgmcmc.distributed.ray_pool import RayPool
from numpyro_sgmcmc.distributed.ray_start import RayOptions
from numpyro_sgmcmc.distributed.sampled import sampled

CASES = [(1, 1), (1, 2), (2, 2), (4, 4)]
"""Servers and workers."""
BOUND, TRANSITIONS, EARLY = 16, 2_000, 400
"""Largest age; transitions of all servers together, and those of them that are left out."""
CLOCKS = {"thread": thread_time, "process": process_time, "clock": perf_counter}


class Timed(AbstractPool):
    """Another pool, with the clocks after the early transitions and after all."""

    def __init__(self, pool):
        self._pool, self._count, self.read = pool, 0, []

    def hold(self, server, version, state):
        self._pool.hold(server, version, state)

    @property
    def is_busy(self):
        return self._pool.is_busy

    def wait(self, seconds):
        return self._pool.wait(seconds)

    def submit(self, worker, request):
        self._count += 1
        if self._count in (EARLY, TRANSITIONS):
            self.read.append([clock() for clock in CLOCKS.values()])
        self._pool.submit(worker, request)


def measured(servers: int, workers: int) -> dict[str, float]:
    """Return the seconds of a transition by each clock."""
    kernel, args = SGHMCSplit(model, 1e-2, friction=1.5), (jnp.arange(10.0),)
    share = share_of(workers, servers, BOUND)
    counts = Counts(0, TRANSITIONS // servers, servers, BOUND, share, 1)
    stale, asked = StaleGradient(kernel, 0), Asked(jax.random.key(0), args, {})
    expecting = planned(stale, counts)
    with RayPool(RayOptions(workers, None, 120.0), model_of(kernel, args, {})) as pool:
        job = job_of(expecting, counts, asked, first_states(expecting, counts, asked))
        pool.configure(job.settings)
        timed = Timed(pool)
        sampled(stale, counts, job, timed, DrawsInMemory(servers), False, perf_counter())
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
