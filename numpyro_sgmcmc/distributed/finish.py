"""The end of a run with workers: an immutable `Run`."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.distributed.job import Counts, Job
from numpyro_sgmcmc.distributed.keeper import AbstractDraws
from numpyro_sgmcmc.distributed.loop import Stopped
from numpyro_sgmcmc.distributed.planning import planned_delay
from numpyro_sgmcmc.distributed.tally import Tally
from numpyro_sgmcmc.kernels import StaleGradient
from numpyro_sgmcmc.running import Outcome, Run
from numpyro_sgmcmc.staleness import FrictionRemedy, observed


def run_of_job(
    kernel: StaleGradient,
    counts: Counts,
    job: Job,
    stopped: Stopped,
    keeper: AbstractDraws,
    tally: Tally,
    wall_time: float,
) -> Run:
    """Return the run, whose kernel has the ages that gradients had after the warm-up.

    Raises:
        KeyboardInterrupt: if the user interrupted the run before its first draw.
    """
    total, calendar = counts.num_samples, job.work.calendar
    if not keeper.count:
        raise KeyboardInterrupt("interrupted before the first draw")
    why, sentence = "complete", f"all {total:,} draws of each chain"
    if stopped.is_interrupted:
        why = "interrupted"
        sentence = f"interrupted by the user after {keeper.count:,} of {total:,} draws"
    keeper.close(why, sentence)
    fields = jax.device_put(keeper.draws())
    draws = fields.pop(kernel.sample_field)
    count = jax.tree.leaves(fields)[0].shape[1]
    if not count:  # no mark was passed, and the folder has none yet
        raise KeyboardInterrupt("interrupted before the first commit of draws")
    early = max(0, calendar.first_of(counts.num_warmup) - job.servers[0].ledger.taken)
    ages = np.concatenate([ages[early:] for ages in keeper.ages()])
    delay = observed(ages) if ages.size else planned_delay(counts.share, counts.size)
    words, final = tally.words(), job.work.program.state
    outcome = Outcome(why, sentence, count, wall_time, None, (words,) if words else (), None)
    return Run(
        kernel=kernel.with_delay(delay),
        target=job.target,
        state=_state([_aged(final(one.chain), delay.mean) for one in stopped.servers]),
        draws=draws,
        fields=fields,
        adaptation=job.adaptation,
        settings={
            "num_chains": counts.num_servers,
            "chain_method": "asynchronous",
            "num_warmup": counts.num_warmup,
            "num_samples": count,
            "thinning": 1,
        },
        wall_time=wall_time,
        outcome=outcome,
    )


def _aged(state: Any, mean: float) -> Any:
    """Return a state whose remedy knows the mean of the ages that it compensated one by one."""
    remedy = state.tuned.remedy
    if isinstance(remedy, FrictionRemedy):
        remedy = replace(remedy, mean_age=jnp.asarray(mean, remedy.mean_age.dtype))
    return state._replace(tuned=state.tuned._replace(remedy=remedy))


def _state(states: list[Any]) -> Any:
    if len(states) == 1:
        return states[0]
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
