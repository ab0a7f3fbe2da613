"""Transitions on Ray with gradients that cost nothing, watched by the clock of a benchmark.

The gradients are those of a Gaussian with 10 rows.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from numpyro_sgmcmc import SGHMCSplit, StaleGradient
from numpyro_sgmcmc.distributed.job import Asked, Counts, first_states, job_of, model_of, planned
from numpyro_sgmcmc.distributed.keeper import DrawsInMemory
from numpyro_sgmcmc.distributed.messages import Request
from numpyro_sgmcmc.distributed.planning import share_of
from numpyro_sgmcmc.distributed.pool import AbstractPool, Event
from numpyro_sgmcmc.distributed.ray_pool import RayPool
from numpyro_sgmcmc.distributed.ray_start import RayOptions
from numpyro_sgmcmc.distributed.sampled import sampled


def model(y):
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", len(y), subsample_size=5) as rows:
        numpyro.sample("y", dist.Normal(theta, 1.0), obs=y[rows])


class WatchedPool(AbstractPool):
    """Another pool, with a function that is called before each request is sent.

    Args:
        pool: the pool.
        watch: is given the pool and the request.
    """

    def __init__(self, pool: RayPool, watch: Callable[[RayPool, Request], None]) -> None:
        self._pool, self._watch = pool, watch

    def hold(self, server: int, version: int, state: Any) -> None:
        self._pool.hold(server, version, state)

    @property
    def is_busy(self) -> bool:
        return self._pool.is_busy

    def wait(self, seconds: float) -> list[Event]:
        return self._pool.wait(seconds)

    def submit(self, worker: int, request: Request) -> None:
        self._watch(self._pool, request)
        self._pool.submit(worker, request)


def run(
    servers: int,
    workers: int,
    bound: int,
    transitions: int,
    watch: Callable[[RayPool, Request], None],
    size: int = 1,
) -> None:
    """Take so many transitions of each server, `size` a request, with ages of at most `bound`."""
    kernel, args = SGHMCSplit(model, 1e-2, friction=1.5), (jnp.arange(10.0),)
    counts = Counts(0, transitions, servers, bound, share_of(workers, servers, bound), size)
    stale, asked = StaleGradient(kernel, 0), Asked(jax.random.key(0), args, {})
    expecting = planned(stale, counts)
    with RayPool(RayOptions(workers, None, 120.0), model_of(kernel, args, {})) as pool:
        job = job_of(expecting, counts, asked, first_states(expecting, counts, asked))
        pool.configure(job.settings)
        watched, keeper = WatchedPool(pool, watch), DrawsInMemory(servers)
        sampled(stale, counts, job, watched, keeper, False, perf_counter())
