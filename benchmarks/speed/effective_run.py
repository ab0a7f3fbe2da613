"""One run of one side of figure 5, in a process of its own: prints times, ESS and errors.

Takes the side's name and a seed. The data are there when the clock starts.
"""

import json
import sys
import time
from collections.abc import Mapping
from typing import Any

import arviz
import jax
import numpy as np
from numpyro.diagnostics import split_gelman_rubin
from numpyro.infer import MCMC

from benchmarks.speed import conditioned, reference
from benchmarks.speed.effective_sides import SIDES, Length
from benchmarks.speed.logistic import Data
from benchmarks.speed.timing import seconds

TARGET = 400.0
"""Effective draws to which a run from a cold start is timed."""


def judged(draws: np.ndarray, exact: Mapping[str, Any]) -> dict[str, float]:
    """Return the smallest ESS, in bulk and of standard deviations, R-hat and the largest errors.

    Args:
        draws: of shape (chains, draws, parameters).
        exact: "mean" and "sd" of each parameter.
    """
    mean, sd = np.asarray(exact["mean"]), np.asarray(exact["sd"])
    draws = draws.astype(np.float64)
    columns = range(draws.shape[2])

    def smallest(method: str) -> float:
        return min(float(arviz.ess(draws[..., place], method=method)) for place in columns)

    return {
        "ess": smallest("bulk"),
        "ess_of_sd": smallest("sd"),
        "rhat": float(np.max(split_gelman_rubin(draws))),
        "mean_error": float(np.max(np.abs(draws.mean((0, 1)) - mean) / sd)),
        "sd_error": float(np.max(np.abs(draws.std((0, 1)) / sd - 1))),
    }


def timed(
    side: str, data: Data, length: Length, exact: Mapping[str, Any], seed: int
) -> dict[str, float]:
    """Run a side once and return its times, its ESS and its errors.

    The time to an ESS of 400 is that from the kernel to the end of the warm-up, with compilation,
    plus 400 effective draws at the rate of the sampling phase. NumPyro compiles a second program
    where warm-up and sampling are two calls, as here; one call would not, so it is taken off.
    """
    begin = time.perf_counter()
    mcmc = SIDES[side].make(data, length)
    mcmc.warmup(jax.random.key(2 * seed), *data)
    jax.block_until_ready(mcmc.post_warmup_state)
    until_warm = time.perf_counter() - begin
    sampling = seconds(lambda: _sampled(mcmc, jax.random.key(2 * seed + 1), data))
    draws = np.asarray(mcmc.get_samples(group_by_chain=True)["weights"])
    found = judged(draws, exact)
    rate = found["ess"] / sampling
    times = {"until_warm": until_warm, "sampling": sampling, "rate": rate}
    return {**times, "seconds_to_target": until_warm + TARGET / rate, **found}


def _sampled(mcmc: MCMC, key: jax.Array, data: Data) -> Any:
    mcmc.run(key, *data)
    return mcmc.get_samples()


def main(side: str, seed: int) -> None:
    """Run once."""
    data = jax.block_until_ready(conditioned.data())
    exact = reference.load()
    if not conditioned.is_known(data, exact["data"]):
        raise RuntimeError("The reference is of other data: make it anew.")
    print(json.dumps(timed(side, data, SIDES[side].length, exact, seed)))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
