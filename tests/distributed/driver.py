"""A run of `AsyncMCMC` in a folder, for a process that a test kills.

python -m tests.distributed.driver FOLDER [ADDRESS KEY]
"""

import sys
import warnings

import jax
import numpy as np

from numpyro_sgmcmc import AsyncMCMC, SGHMCSplit
from tests.distributed.problem import data, slow_model

SERVERS, WORKERS, WARMUP, DRAWS, SECONDS = 2, 2, 10, 500, 0.02
AGES = "ages.npy"


def run_in(folder, address=None, key=0):
    """Return the run, begun or continued."""
    run = AsyncMCMC(
        SGHMCSplit(slow_model, 1e-3, friction=5.0),
        num_warmup=WARMUP,
        num_samples=DRAWS,
        num_servers=SERVERS,
        num_workers=WORKERS,
        folder=folder,
        every=1e-9,
        address=address,
        progress_bar=False,
    )
    run.run(jax.random.key(key), *data(), SECONDS)
    return run


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if len(sys.argv) == 2:
        run_in(sys.argv[1])
    else:
        folder, address, key = sys.argv[1:]
        np.save(f"{folder}-{AGES}", np.stack(run_in(folder, address, int(key)).ages))
