"""Run a kernel without tuning, and follow its verdict's advice on the number of draws."""

import time
import warnings
from functools import partial
from math import ceil
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from numpyro.infer import MCMC

from benchmarks.calibration.problems import Problem
from numpyro_sgmcmc import Diagnosis, SGHMCSplit, diagnose

CHAINS = 4
SHORTEST_BUDGET = 60.0
"""Seconds that every model gets; more where NUTS took longer."""

FIRST_DRAWS, FIRST_TRANSITIONS = 2_000, 100_000
"""Most draws of a chain in the first round, and most transitions of these."""

MOST_NUMBERS = 2**28
"""Entries of all draws, 1 GB in single precision; joining rounds holds them some three times."""


class Fit(NamedTuple):
    """A run with all its rounds, what is said of it, what it took, and what it warned of.

    `verdict_share` is what the last verdict took, relative to warm-up and all draws.
    """

    mcmc: MCMC
    said: Diagnosis
    rounds: int
    seconds: dict[str, float]
    warned: list[str]
    verdict_share: float


def fit(problem: Problem, budget: float = SHORTEST_BUDGET, seed: int = 0) -> Fit:
    """Run four vectorised chains with nothing chosen by hand, and go on while draws are asked for.

    Args:
        problem: to be run.
        budget: seconds for warm-up, sampling and verdicts together. A round that is expected to
            exceed it is not begun; the first is taken whatever it costs, and is short where a draw
            takes many transitions.
        seed: of the chains.
    """
    kernel = SGHMCSplit(partial(problem.model, subsample_size=problem.batch))
    mcmc = MCMC(
        kernel,
        num_warmup=1_000,
        num_samples=FIRST_DRAWS,
        num_chains=CHAINS,
        chain_method="vectorized",
        jit_model_args=True,
        progress_bar=False,
    )
    arguments = tuple(map(jnp.asarray, problem.arguments))
    first, second = jax.random.split(jax.random.key(seed))
    spent = {"warmup": 0.0, "sampling": 0.0, "verdict": 0.0}
    last = spent.copy()

    def timed(phase: str, function: Any, *args: Any) -> Any:
        begin = time.perf_counter()
        found = function(*args)
        jax.block_until_ready(mcmc.last_state)
        last[phase] = time.perf_counter() - begin
        spent[phase] += last[phase]
        return found

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        timed("warmup", mcmc.warmup, first, *arguments)
        mcmc.num_samples = max(100, min(FIRST_DRAWS, FIRST_TRANSITIONS // _steps(kernel)))
        timed("sampling", mcmc.run, second, *arguments)
        said, rounds = timed("verdict", diagnose, mcmc), 1
        while said.more_draws is not None and _is_within(budget, spent, mcmc, said.more_draws):
            timed("sampling", _continue, mcmc, arguments, ceil(said.more_draws / CHAINS))
            said, rounds = timed("verdict", diagnose, mcmc), rounds + 1
    warned = [str(one.message) for one in caught if issubclass(one.category, UserWarning)]
    share = last["verdict"] / (spent["warmup"] + spent["sampling"])
    return Fit(mcmc, said, rounds, spent, warned, share)


def _is_within(budget: float, spent: dict[str, float], mcmc: MCMC, more: int) -> bool:
    factor = more / (CHAINS * mcmc.num_samples)
    numbers = sum(x.size for x in jax.tree.leaves(mcmc.get_samples(group_by_chain=True)))
    expected = sum(spent.values()) + factor * spent["sampling"] + spent["verdict"]
    return expected <= budget and (1 + factor) * numbers <= MOST_NUMBERS


def _steps(kernel: SGHMCSplit) -> int:
    """Return the transitions of a draw that the warm-up chose."""
    assert kernel.adaptation is not None
    return int(kernel.adaptation.num_steps)


def _continue(mcmc: MCMC, arguments: tuple, more: int) -> None:
    """Take more draws of each chain, and put them behind those that it has."""
    states, draws = mcmc._states, mcmc.num_samples
    state: Any = mcmc.last_state
    mcmc.post_warmup_state = state
    mcmc.num_samples = more
    mcmc.run(state.rng_key, *arguments)
    mcmc._states = jax.tree.map(lambda *x: jnp.concatenate(x, axis=1), states, mcmc._states)
    mcmc.num_samples = draws + more
