"""One run that keeps draws, in a process of its own: prints its peak of memory.

Takes how many draws, and "bar", "none" or, for `sg.run`, "driven".
"""

import json
import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC

from benchmarks.speed.memory import peak
from numpyro_sgmcmc import SGLD
from numpyro_sgmcmc import run as driven

PARAMETERS = 100_000
ROWS, BATCH = 10_000, 100


def model(place: jax.Array, response: jax.Array) -> None:
    """Means of many groups, which cost little to move and much to keep."""
    means = numpyro.sample("means", dist.Normal(0.0, 1.0).expand([PARAMETERS]).to_event(1))
    with numpyro.plate("rows", ROWS, subsample_size=BATCH) as index:
        numpyro.sample("response", dist.Normal(means[place[index]], 1.0), obs=response[index])


def main(draws: int, way: str) -> None:
    """Run once, and take the draws."""
    place = jnp.arange(ROWS) * (PARAMETERS // ROWS)
    response = jax.random.normal(jax.random.key(0), (ROWS,))
    kernel = SGLD(model, step_size=1e-4)
    mcmc = MCMC(kernel, num_warmup=0, num_samples=draws, progress_bar=way == "bar")
    drive = mcmc.run if way != "driven" else partial(driven, mcmc)
    drive(jax.random.key(1), place, response)
    before_taking = jax.block_until_ready(mcmc.last_state) and peak()
    samples = jax.block_until_ready(mcmc.get_samples())
    assert samples["means"].shape == (draws, PARAMETERS)
    print(json.dumps({"run": before_taking, "peak": peak()}))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
