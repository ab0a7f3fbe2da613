"""Seconds of a pass over all rows in one process, and by workers of Ray, in one run.

    python -m benchmarks.staleness.passes

The model is a negative binomial regression. A pass computes U, its gradient and its Hessian. The
ways alternate, and medians are printed.
"""

from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist

from numpyro_sgmcmc import SGHMCSplit
from numpyro_sgmcmc.distributed.job import model_of
from numpyro_sgmcmc.distributed.passes import WorkerPasses
from numpyro_sgmcmc.distributed.ray_pool import RayPool
from numpyro_sgmcmc.distributed.ray_start import RayOptions
from numpyro_sgmcmc.minibatch import UniformMinibatch
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preparation import Target, row_sums

ROWS, COLUMNS, BATCH, ROUNDS = 1_000_000, 16, 1_000, 9
WORKERS = 2


def model(x: Any, y: Any) -> None:
    """A negative binomial regression."""
    w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([COLUMNS]).to_event(1))
    shape = numpyro.sample("shape", dist.Gamma(2.0, 1.0))
    with numpyro.plate("rows", len(y), subsample_size=BATCH) as i:
        numpyro.sample("y", dist.NegativeBinomial2(jax.numpy.exp(x[i] @ w), shape), obs=y[i])


def main() -> None:
    """Print the medians and their ratio."""
    rng = np.random.default_rng(0)
    x = (0.2 * rng.normal(size=(ROWS, COLUMNS))).astype(np.float32)
    args = x, rng.poisson(np.exp(x.sum(1))).astype(np.float32)
    position = np.full(COLUMNS + 1, 0.1, np.float32)
    target = Target(
        read_structure(model, args, {}), UniformMinibatch(), *jax.device_put((args, {}))
    )
    here = partial(target.run, lambda view, z: view.second_order(z), position, name="pass")
    with RayPool(RayOptions(WORKERS, None, 120.0), model_of(SGHMCSplit(model), args, {})) as pool:
        passes = WorkerPasses(pool, pool.free, None)
        there = partial(passes.total, row_sums.second_order, None, (position,))
        ways = {"in this process": here, f"by {WORKERS} workers": there}
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(1 + ROUNDS):
            for name, way in ways.items():
                begin = perf_counter()
                jax.block_until_ready(way())
                seconds[name].append(perf_counter() - begin)
    found = [median(each[1:]) for each in seconds.values()]
    for name, each in zip(seconds, found, strict=True):
        print(f"{name}: {each:.3f} s a pass over {ROWS:,} rows")
    print(f"ratio {found[0] / found[1]:.2f}")


if __name__ == "__main__":
    main()
