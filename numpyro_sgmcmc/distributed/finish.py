"""The end of a run with workers: an immutable `Run`."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from numpyro_sgmcmc.distributed.job import Counts, Job
from numpyro_sgmcmc.distributed.keeper import Draws
from numpyro_sgmcmc.distributed.loop import Stopped
from numpyro_sgmcmc.distributed.tally import Tally
from numpyro_sgmcmc.kernels import StaleGradient
from numpyro_sgmcmc.running import Outcome, Run
from numpyro_sgmcmc.staleness import FrictionRemedy, observed


def run_of_job(
    kernel: StaleGradient,
    counts: Counts,
    job: Job,
    stopped: Stopped,
    keeper: Draws,
    tally: Tally,
    wall_time: float,
) -> Run:
    """Return the run, whose kernel has the ages that gradients had after the warm-up.

    Raises:
        KeyboardInterrupt: if the user interrupted the run before its first draw.
    """
    draws = keeper.count
    if not draws:
        raise KeyboardInterrupt("interrupted before the first draw")
    first = job.work.calendar.first_of(counts.num_warmup)
    delay = observed(np.concatenate([ages[first:] for ages in keeper.ages()]))
    fields = jax.device_put(keeper.draws())
    share = f"{draws:,} of {counts.num_samples:,} draws of each chain"
    why, sentence = "complete", f"all {draws:,} draws of each chain"
    if stopped.is_interrupted:
        why, sentence = "interrupted", f"interrupted by the user after {share}"
    words = tally.words()
    outcome = Outcome(why, sentence, draws, wall_time, None, (words,) if words else (), None)
    return Run(
        kernel=kernel.with_delay(delay),
        target=job.target,
        state=_state([_aged(one.chain.state, delay.mean) for one in stopped.servers]),
        draws=fields.pop(kernel.sample_field),
        fields=fields,
        adaptation=job.adaptation,
        settings={
            "num_chains": counts.num_servers,
            "chain_method": "asynchronous",
            "num_warmup": counts.num_warmup,
            "num_samples": draws,
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
