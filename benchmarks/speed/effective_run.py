"""One side of figure 5, in a process of its own: prints seconds, effective draws and errors.

Takes the side's name and a seed. Seconds run from the kernel to the draws, compilation and tuning
included.
"""

import json
import sys
import time
from collections.abc import Callable

import arviz
import jax
import jax.numpy as jnp
import numpy as np
from numpyro.diagnostics import split_gelman_rubin
from numpyro.infer import HMCECS, MCMC, NUTS, init_to_value

from benchmarks.speed import conditioned, reference
from benchmarks.speed.logistic import model, whole_model
from numpyro_sgmcmc import SGHMCSplit

BLOCKS = 10


def ours() -> MCMC:
    """Return four vectorised chains with nothing chosen."""
    return MCMC(
        SGHMCSplit(model),
        num_warmup=1_000,
        num_samples=80_000,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )


def nuts() -> MCMC:
    """Return NUTS on all rows, as briefly as its warm-up allows."""
    kernel = NUTS(whole_model)
    return MCMC(kernel, num_warmup=80, num_samples=80, progress_bar=False)


def hmcecs() -> MCMC:
    """Return HMCECS with a Taylor proxy about the posterior's mean, where it starts too."""
    centre = {"weights": jnp.asarray(reference.load()["mean"], jnp.float32)}
    inner = NUTS(model, init_strategy=init_to_value(values=centre))
    kernel = HMCECS(inner, num_blocks=BLOCKS, proxy=HMCECS.taylor_proxy(centre))
    return MCMC(kernel, num_warmup=300, num_samples=700, progress_bar=False)


SIDES: dict[str, Callable[[], MCMC]] = {"ours": ours, "nuts": nuts, "hmcecs": hmcecs}


def judged(draws: np.ndarray) -> dict[str, float]:
    """Return effective draws, R-hat and the largest errors of draws (chains, draws, parameters)."""
    law = reference.load()
    mean, sd = np.asarray(law["mean"]), np.asarray(law["sd"])
    draws = draws.astype(np.float64)
    columns = range(draws.shape[2])
    return {
        "effective_draws": min(float(arviz.ess(draws[..., place])) for place in columns),
        "rhat": float(np.max(split_gelman_rubin(draws))),
        "mean_error": float(np.max(np.abs(draws.mean((0, 1)) - mean) / sd)),
        "sd_error": float(np.max(np.abs(draws.std((0, 1)) / sd - 1))),
    }


def main(side: str, seed: int) -> None:
    """Run once."""
    data = jax.block_until_ready(conditioned.data())
    if not conditioned.is_known(data, reference.load()["data"]):
        raise RuntimeError("The reference is of other data: make it anew.")
    begin = time.perf_counter()
    mcmc = SIDES[side]()
    mcmc.run(jax.random.key(seed), *data)
    samples = jax.block_until_ready(mcmc.get_samples(group_by_chain=True))
    took = time.perf_counter() - begin
    found = judged(np.asarray(samples["weights"]))
    print(json.dumps({"seconds": took, "rate": found["effective_draws"] / took, **found}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
