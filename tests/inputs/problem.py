"""A small regression whose arguments the tests spoil."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC

X = jax.random.normal(jax.random.key(0), (40, 2))
Y = X @ jnp.array([1.0, -1.0]) + 0.5 * jax.random.normal(jax.random.key(1), (40,))


def model(x, y, batch=8):
    """Linear regression with an unknown scale."""
    w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([x.shape[1]]).to_event(1))
    scale = numpyro.sample("scale", dist.HalfNormal(1.0))
    with numpyro.plate("rows", x.shape[0], subsample_size=batch) as index:
        numpyro.sample("y", dist.Normal(x[index] @ w, scale), obs=y[index])


def run(kernel, *args, chains=1, draws=5, warmup=0, init_params=None, **kwargs):
    """Run a few iterations and return the `MCMC`."""
    mcmc = MCMC(
        kernel,
        num_warmup=warmup,
        num_samples=draws,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), *args, init_params=init_params, **kwargs)
    return mcmc
