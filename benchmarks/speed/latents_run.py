"""One run with many latents, in a process of its own: prints the growth of memory.

The data are there when counting starts. The warm-up settles walkers, of whose latents a part is
kept too. `python -m benchmarks.speed.latents_run DRIVER ROWS`, where the driver is `mcmc`, `sg`, or
`nuts` for NumPyro's kernel on all rows.
"""

import json
import sys

import jax
from numpyro.infer import MCMC, NUTS

from benchmarks.speed.latent_steps import NUMBERS, groups
from benchmarks.speed.memory import forget_peak, peak, resident
from numpyro_sgmcmc import SGHMCSplit, run

CHAINS, DRAWS, OF_ROWS = 4, 10, 20
"""Chains, their draws, and the rows that a minibatch has one of."""


def main(driver: str, rows: int) -> None:
    """Run once, and take the draws."""
    y = jax.block_until_ready(1.4 * jax.random.normal(jax.random.key(0), (rows,)))
    forget_peak()
    before = resident()
    ours = SGHMCSplit(groups, step_size=0.1 / rows, num_steps=10)
    mcmc = MCMC(
        NUTS(groups) if driver == "nuts" else ours,
        num_warmup=DRAWS,
        num_samples=DRAWS,
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )
    given = jax.random.key(1), y, rows if driver == "nuts" else rows // OF_ROWS
    if driver == "sg":
        run(mcmc, *given)
    else:
        mcmc.run(*given)
    jax.block_until_ready((mcmc.get_samples(), mcmc.last_state))
    more = max(0, peak() - before)
    arrays = sum(array.nbytes for array in jax.live_arrays()) - y.nbytes
    latents = CHAINS * NUMBERS * rows * y.dtype.itemsize
    print(json.dumps({"bytes": more, "arrays": arrays, "latents": latents}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
