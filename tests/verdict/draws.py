"""Verdicts on draws that were made by NumPy: what is wrong with them is known exactly."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from numpyro_sgmcmc import SGLD, Diagnosis
from numpyro_sgmcmc.running import Run
from numpyro_sgmcmc.verdict import diagnosis_of


def gaussian(precision):
    """z ~ N(0, precision^-1); the matrix is an argument, so that one compilation serves all."""
    size = precision.shape[0]
    z = numpyro.sample("z", dist.ImproperUniform(dist.constraints.real_vector, (), (size,)))
    numpyro.factor("u", -0.5 * z @ precision @ z)


def scales(sd):
    """z ~ N(0, sd^2), independent coordinates: any number of them at no cost."""
    numpyro.sample("z", dist.Normal(jnp.zeros(sd.shape[0]), sd).to_event(1))


@cache
def kernel_of(model, **options):
    """One kernel a model: what it compiles for one shape serves all data."""
    return SGLD(model, 1e-3, **options)


def verdict(
    model,
    args,
    draws,
    *,
    site="z",
    weights=None,
    kernel=None,
    walkers=None,
    others=None,
    functions=None,
) -> Diagnosis:
    """Judge constrained draws (chains, draws, ...) of a site as if a kernel had made them.

    Its step size is so small that theory finds nothing wrong.
    """
    kernel = kernel_of(model) if kernel is None else kernel
    chains, length = draws.shape[:2]
    keys = jax.random.split(jax.random.key(0), chains)
    state = kernel.init(keys, 0, None, args, {})
    shape = (chains, length)
    fields = {
        "diverging": np.zeros(shape, bool),
        "step_size": np.full(shape, 1e-3),
        "weight": np.full(shape, 1e-3) if weights is None else weights,
    }
    run = Run(
        kernel=kernel,
        target=kernel.memory.target,
        state=state,
        draws={site: draws} | (others or {}),
        fields=fields | (walkers or {}),
        adaptation=None,
        settings={"thinning": 1},
        wall_time=None,
    )
    return diagnosis_of(run, functions)


def independent(rng, shape, covariance=None):
    """Independent draws of N(0, covariance), the identity by default."""
    draws = rng.normal(size=shape)
    return draws if covariance is None else draws @ np.linalg.cholesky(covariance).T


def autoregression(rng, shape, correlation):
    """Chains of N(0, 1) in which neighbours have this correlation."""
    noise = rng.normal(size=shape)
    out = np.empty(shape)
    out[:, 0] = noise[:, 0]
    for t in range(1, shape[1]):
        out[:, t] = correlation * out[:, t - 1] + np.sqrt(1 - correlation**2) * noise[:, t]
    return out
