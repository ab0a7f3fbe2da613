"""What a transition of `AsyncMCMC` costs beside a bare round trip of Ray, in one run.

    python -m benchmarks.staleness.round_trip

The gradients are those of a Gaussian with 10 rows and cost nothing. Blocks of transitions and of
bare round trips, which return a message of the same length, alternate on the same worker.
"""

import argparse
from statistics import median
from time import perf_counter

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from numpyro_sgmcmc import SGHMCSplit, StaleGradient
from numpyro_sgmcmc.distributed.job import (
    Asked,
    Counts,
    first_states,
    job_of,
    model_of,
    planned,
)
from numpyro_sgmcmc.distributed.keeper import DrawsInMemory
from numpyro_sgmcmc.distributed.messages import packed
from numpyro_sgmcmc.distributed.pool import AbstractPool
from numpyro_sgmcmc.distributed.ray_pool import RayPool
from numpyro_sgmcmc.distributed.ray_start import RayOptions
from numpyro_sgmcmc.distributed.sampled import sampled

BLOCK = 50
EARLY = 4
"""Blocks that are left out."""


def model(y):
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", len(y), subsample_size=5) as rows:
        numpyro.sample("y", dist.Normal(theta, 1.0), obs=y[rows])


class Alternating(AbstractPool):
    """Another pool, with bare round trips after each block of transitions."""

    def __init__(self, pool):
        self._pool, self._count, self._last = pool, 0, 0.0
        self._seconds, self.transitions, self.bare = [], [], []

    def hold(self, server, version, state):
        self._pool.hold(server, version, state)

    @property
    def is_busy(self):
        return self._pool.is_busy

    def wait(self, seconds):
        return self._pool.wait(seconds)

    def submit(self, worker, request):
        self._seconds.append(perf_counter() - self._last)
        self._count += 1
        if self._count % BLOCK == 0:
            self.transitions.append(median(self._seconds[1:]))
            self.bare.append(self._pool.round_trip(packed(request), BLOCK))
            self._seconds = []
        self._last = perf_counter()
        self._pool.submit(worker, request)


def measured(blocks: int) -> tuple[list[float], list[float]]:
    """Return the median seconds of transitions, and of bare round trips, by block."""
    kernel, args = SGHMCSplit(model, 1e-2, friction=1.5), (jnp.arange(10.0),)
    counts = Counts(0, blocks * BLOCK, 1, 0, 1, 1)
    stale, asked = StaleGradient(kernel, 0), Asked(jax.random.key(0), args, {})
    expecting = planned(stale, counts)
    with RayPool(RayOptions(1, None, 120.0), model_of(kernel, args, {})) as pool:
        job = job_of(expecting, counts, asked, first_states(expecting, counts, asked))
        pool.configure(job.settings)
        alternating = Alternating(pool)
        sampled(stale, counts, job, alternating, DrawsInMemory(1), False, perf_counter())
    return alternating.transitions[EARLY:], alternating.bare[EARLY:]


def main() -> None:
    """Print both medians, and the median of the blocks' ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=40)
    both = measured(parser.parse_args().blocks)
    ratio = median(one / other for one, other in zip(*both, strict=True))
    ours, bare = (1e3 * median(each) for each in both)
    print(f"transition {ours:.2f} ms, bare round trip {bare:.2f} ms, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
