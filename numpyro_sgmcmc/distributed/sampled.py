"""A prepared run, carried out by any workers."""

from time import perf_counter
from typing import NamedTuple

import numpy as np

from numpyro_sgmcmc.distributed.bar import ServersBar
from numpyro_sgmcmc.distributed.finish import run_of_job
from numpyro_sgmcmc.distributed.job import Counts, Job
from numpyro_sgmcmc.distributed.keeper import AbstractDraws
from numpyro_sgmcmc.distributed.loop import carry_out, hold_all
from numpyro_sgmcmc.distributed.pool import AbstractPool
from numpyro_sgmcmc.distributed.tally import Tally
from numpyro_sgmcmc.kernels import StaleGradient
from numpyro_sgmcmc.running import Run


class Sampled(NamedTuple):
    """A run, and the age of the gradient of each transition, for each server."""

    run: Run
    ages: list[np.ndarray]


def sampled(
    kernel: StaleGradient,
    counts: Counts,
    job: Job,
    pool: AbstractPool,
    keeper: AbstractDraws,
    progress_bar: bool,
    began: float,
) -> Sampled:
    """Return the run of a job on workers that know its settings.

    Args:
        kernel: the kernel with stale gradients, of any delay.
        counts: numbers of the run.
        job: the prepared run.
        pool: the workers.
        keeper: what keeps the draws.
        progress_bar: whether to show a progress bar.
        began: when the run began, by `perf_counter`.
    """
    tally = Tally()
    bar = ServersBar(job.work.calendar, counts.num_servers, progress_bar)
    hold_all(job.work, job.servers, pool, job.is_shared)
    try:
        stopped = carry_out(job.work, job.servers, pool, keeper, tally, bar)
    finally:
        bar.close()
    seconds = perf_counter() - began
    return Sampled(run_of_job(kernel, counts, job, stopped, keeper, tally, seconds), keeper.ages())
