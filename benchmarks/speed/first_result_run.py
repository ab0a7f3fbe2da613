"""One first result, in a process of its own: prints its seconds and the growth of memory.

Takes the kernel's name, "explicit" or "adapting". The data are there when the clock starts.
"""

import json
import sys
import time

import jax
from numpyro.infer import MCMC

from benchmarks.speed.logistic import ROWS, model, simulate
from benchmarks.speed.memory import forget_peak, peak, resident
from numpyro_sgmcmc import SGLD, SGHMCSplit

DRAWS = WARMUP = 1_000


def main(kind: str) -> None:
    """Run once."""
    data = jax.block_until_ready(simulate())
    forget_peak()
    before, begin = resident(), time.perf_counter()
    explicit = kind == "explicit"
    kernel = SGLD(model, step_size=0.1 / ROWS) if explicit else SGHMCSplit(model)
    mcmc = MCMC(kernel, num_warmup=0 if explicit else WARMUP, num_samples=DRAWS)
    mcmc.run(jax.random.key(0), *data)
    jax.block_until_ready(mcmc.get_samples())
    took = time.perf_counter() - begin
    bytes_more = max(0, peak() - before)
    print(json.dumps({"seconds": took, "bytes": bytes_more, "bar": mcmc.progress_bar}))


if __name__ == "__main__":
    main(sys.argv[1])
