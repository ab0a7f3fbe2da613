"""One run in a folder, in a process of its own: prints its peak of memory. Takes how many draws."""

import json
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC

from benchmarks.speed.memory import peak
from numpyro_sgmcmc import SGLD
from numpyro_sgmcmc import run as driven

PARAMETERS, ROWS = 58, 100
"""With two statistics a draw takes 240 bytes."""


def model(response: jax.Array) -> None:
    """A mean for each column."""
    means = numpyro.sample("means", dist.Normal(0.0, 1.0).expand([PARAMETERS]).to_event(1))
    with numpyro.plate("rows", ROWS, subsample_size=10) as index:
        numpyro.sample("response", dist.Normal(means.mean(), 1.0), obs=response[index])


def main(draws: int) -> None:
    """Run once."""
    mcmc = MCMC(SGLD(model, 1e-3), num_warmup=0, num_samples=draws, progress_bar=False)
    with tempfile.TemporaryDirectory() as folder:
        driven(mcmc, jax.random.key(1), jnp.zeros(ROWS), folder=Path(folder) / "run", every=5)
    print(json.dumps({"peak": peak()}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
