"""One run with a million latents, in a process of its own: prints the growth of memory.

The data are there when counting starts. The warm-up settles walkers, whose latents are kept too.
"""

import json

import jax
from numpyro.infer import MCMC

from benchmarks.speed.latent_steps import NUMBERS, groups
from benchmarks.speed.memory import forget_peak, peak, resident
from numpyro_sgmcmc import SGHMCSplit

ROWS, BATCH, CHAINS, DRAWS = 1_000_000, 50_000, 4, 10


def main() -> None:
    """Run once, and take the draws."""
    y = jax.block_until_ready(1.4 * jax.random.normal(jax.random.key(0), (ROWS,)))
    forget_peak()
    before = resident()
    mcmc = MCMC(
        SGHMCSplit(groups, step_size=0.1 / ROWS, num_steps=10),
        num_warmup=DRAWS,
        num_samples=DRAWS,
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(1), y, BATCH)
    jax.block_until_ready((mcmc.get_samples(), mcmc.last_state))
    more = max(0, peak() - before)
    arrays = sum(array.nbytes for array in jax.live_arrays()) - y.nbytes
    latents = CHAINS * NUMBERS * ROWS * y.dtype.itemsize
    print(json.dumps({"bytes": more, "arrays": arrays, "latents": latents}))


if __name__ == "__main__":
    main()
