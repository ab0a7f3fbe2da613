"""One run of a dynamics on a model, and what its draws are worth for each gradient."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.diagnostics import effective_sample_size, split_gelman_rubin
from numpyro.infer import MCMC

from benchmarks.calibration.problems import Problem
from benchmarks.calibration.scores import functionals, log_score, predictions
from benchmarks.microcanonical.settings import CHAINS, Found
from numpyro_sgmcmc import SGMCMC, Diagonal, SweepMinibatch, run
from numpyro_sgmcmc.dynamics import AbstractDynamics

DROPPED = 0.2
"""Share of the draws that is thrown away, as a run has to reach its own distribution."""


TOGETHER = 500
"""Functions whose effective sample sizes are computed at once."""


class Worth(NamedTuple):
    """What the draws of a run are worth.

    Attributes:
        log_score: of held-out rows.
        log_score_error: its standard error.
        median_ess: effective draws for 1,000 gradients, the median over functions of held-out rows.
        smallest_ess: the smallest.
        largest_rhat: of these functions.
        diverged: transitions that were refused.
    """

    log_score: float
    log_score_error: float
    median_ess: float
    smallest_ess: float
    largest_rhat: float
    diverged: int


def worth(
    problem: Problem,
    found: Found,
    dynamics: AbstractDynamics,
    scale: str,
    step_size: float,
    draws: int,
    num_steps: int,
    seed: int,
) -> Worth:
    """Return what a run is worth whose chains begin where the warm-up's ended.

    Minibatches are swept: of the schemes it leaves the least noise, to all dynamics alike.
    """
    kernel = SGMCMC(
        partial(problem.model, subsample_size=problem.batch),
        step_size,
        dynamics=dynamics,
        preconditioner=Diagonal(found.scales[scale]),
        minibatch=SweepMinibatch(),
        num_steps=num_steps,
    )
    dropped = int(DROPPED * draws)
    mcmc = MCMC(
        kernel,
        num_warmup=dropped,
        num_samples=draws - dropped,
        num_chains=CHAINS,
        chain_method="vectorized",
        jit_model_args=True,
        progress_bar=False,
    )
    arguments = tuple(map(jnp.asarray, problem.arguments))
    # NumPyro's caches keep runs by `mcmc.run`, with their draws.
    run(mcmc, jax.random.key(seed), *arguments, init_params=found.starts)
    samples = mcmc.get_samples(group_by_chain=True)
    diverged = int(np.sum(mcmc.last_state.num_diverging))
    assert problem.predict is not None
    said = predictions(problem.predict, samples, problem.load().held_out)
    score = log_score(said)
    # Some at a time, because their Fourier transforms take much memory.
    parts = [
        (effective_sample_size(part), split_gelman_rubin(part))
        for part in _together(functionals(said).values())
    ]
    ess, rhat = (np.concatenate(each) for each in zip(*parts, strict=True))
    gradients = CHAINS * (draws - dropped) * num_steps / 1_000
    each = (np.median(ess) / gradients, np.min(ess) / gradients, np.max(rhat))
    return Worth(score.value, score.mcse, *map(float, each), diverged)


def _together(functions: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """Yield some functions at a time, (chains, draws, functions)."""
    left = iter(functions)
    while some := list(islice(left, TOGETHER)):
        yield np.stack(some, -1).astype(np.float64)
