"""The Gaussian with known stationary variances of the tests with workers, slow where asked."""

import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

ROWS, BATCH = 50, 10


def model(y):
    """One mean with a known posterior; the gradient noise does not depend on the position."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", len(y), subsample_size=BATCH) as rows:
        numpyro.sample("y", dist.Normal(theta, 1.0), obs=y[rows])


def slow_model(y, seconds):
    """The same, whose gradient takes a while in each process that computes it."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    numpyro.factor("delay", _late(theta, seconds))
    with numpyro.plate("rows", len(y), subsample_size=BATCH) as rows:
        numpyro.sample("y", dist.Normal(theta, 1.0), obs=y[rows])


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def _late(theta, seconds):
    def sleep(value):
        time.sleep(seconds)
        return np.zeros_like(value)

    shape = jax.ShapeDtypeStruct((), theta.dtype)
    return jax.pure_callback(sleep, shape, theta, vmap_method="sequential")


@_late.defjvp
def _derivative(seconds, primals, tangents):
    return _late(*primals, seconds), jnp.zeros(())


def data():
    """Return the rows."""
    return (0.7 + jax.random.normal(jax.random.key(5), (ROWS,)),)
