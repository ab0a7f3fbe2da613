"""A Gaussian model whose distributions the results are checked against."""

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGLD, SGRRLD, SGHMCSplit, polynomial, to_inference_data

unjudged = partial(to_inference_data, verdict=False)
"""For runs that are too short for a good verdict."""

DATA = jnp.array([0.3, -1.2, 0.8, 2.0, 0.1, -0.4, 1.5, 0.9])
PRECISION = 1.0 + DATA.size
MEAN = float(DATA.sum()) / PRECISION
"""A number, not an array of JAX: functions of it are called once a draw."""


def exact_gradients(x: jax.Array) -> None:
    """Whole plate: theta | x ~ N(MEAN, 1 / PRECISION), and gradients are exact."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", x.shape[0]):
        numpyro.sample("x", dist.Normal(theta, 1.0), obs=x)


def regression(x: jax.Array, y: jax.Array) -> None:
    """Two subsampled coefficients in a named plate, and a scale."""
    scale = numpyro.sample("scale", dist.HalfNormal(1.0))
    with numpyro.plate("column", x.shape[1]):
        w = numpyro.sample("w", dist.Normal(0.0, 1.0))
    numpyro.deterministic("total", w.sum())
    with numpyro.plate("rows", x.shape[0], subsample_size=16) as index:
        numpyro.sample("y", dist.Normal(x[index] @ w, scale), obs=y[index])


def regression_data(rows: int = 100) -> tuple[jax.Array, jax.Array]:
    """Return features and response."""
    key_x, key_y = jax.random.split(jax.random.key(0))
    x = jax.random.normal(key_x, (rows, 2))
    return x, x @ jnp.array([1.0, -0.5]) + 0.5 * jax.random.normal(key_y, (rows,))


def run(kernel: Any, *args: Any, chains: int = 2, draws: int = 50, warmup: int = 20) -> MCMC:
    """Return a finished vectorised run."""
    mcmc = MCMC(
        kernel,
        num_warmup=warmup,
        num_samples=draws,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(3), *args)
    return mcmc


def subsampled(x: jax.Array) -> None:
    """theta | x ~ N(MEAN, 1 / PRECISION); a minibatch's gradient errs by N (mean x - its mean)."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", x.shape[0], subsample_size=2) as index:
        numpyro.sample("x", dist.Normal(theta, 1.0), obs=x[index])


@cache
def momentum() -> MCMC:
    """A run with momentum, plain gradients and a constant step."""
    return run(SGHMCSplit(subsampled, 0.05, friction=3.0, num_steps=2), DATA, draws=60)


@cache
def decreasing() -> MCMC:
    """A run whose steps decrease."""
    x, y = regression_data()
    return run(SGLD(regression, polynomial(1e-3, 1.0, 0.5)), x, y)


@cache
def coarse_and_fine() -> MCMC:
    """A Richardson-Romberg run."""
    x, y = regression_data()
    return run(SGRRLD(regression, 1e-4), x, y)
