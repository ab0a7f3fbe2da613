"""Runs on a Ray that the test has started."""

import threading
import time

import jax

from numpyro_sgmcmc import StaleGradient
from numpyro_sgmcmc.distributed.job import Asked, first_states, job_of, model_of, planned
from numpyro_sgmcmc.distributed.keeper import DrawsInMemory
from numpyro_sgmcmc.distributed.pool import AbstractPool, Answered
from numpyro_sgmcmc.distributed.ray_pool import RayPool
from numpyro_sgmcmc.distributed.ray_start import RayOptions
from numpyro_sgmcmc.distributed.sampled import sampled

QUIET = {"include_dashboard": False, "log_to_driver": False, "_node_ip_address": "127.0.0.1"}


class TimedPool(AbstractPool):
    """Another pool, with the time of each answer."""

    def __init__(self, pool, times):
        self._pool, self._times = pool, times

    def hold(self, server, version, state):
        self._pool.hold(server, version, state)

    def submit(self, worker, request):
        self._pool.submit(worker, request)

    @property
    def is_busy(self):
        return self._pool.is_busy

    def wait(self, seconds):
        events = self._pool.wait(seconds)
        now = time.perf_counter()
        self._times += [now for one in events if isinstance(one, Answered)]
        return events


def run_on_ray(
    kernel, args, counts, workers, before=None, during=None, timeout=120.0, timed=None, **given
):
    """Return a run.

    `before` is called when its workers have started, and `during` with its pool, in another thread.
    """
    stale, asked = StaleGradient(kernel, 0, **given), Asked(jax.random.key(0), args, {})
    expecting = planned(stale, counts)
    job = job_of(expecting, counts, asked, first_states(expecting, counts, asked))
    with RayPool(RayOptions(workers, None, timeout), model_of(kernel, args, {})) as pool:
        if before is not None:
            before()
        pool.configure(job.settings)
        if during is not None:
            thread = threading.Thread(target=during, args=(pool,), daemon=True)
            thread.start()
        if timed is not None:
            pool = TimedPool(pool, timed)
        return sampled(
            stale, counts, job, pool, DrawsInMemory(counts.num_servers), False, time.perf_counter()
        )
