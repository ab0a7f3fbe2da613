"""Bayesian neural networks through NumPyro's flax modules."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from flax import linen, nnx
from numpyro.contrib.module import random_flax_module, random_nnx_module

from numpyro_sgmcmc import SGLD, FixedPoint, SGHMCSplit
from tests.models.agreement import assert_unbiased, run

X = jax.random.normal(jax.random.key(0), (24, 3))
Y = jnp.sin(X[:, 0]) + 0.1 * jax.random.normal(jax.random.key(1), (24,))


class Linen(linen.Module):
    @linen.compact
    def __call__(self, x):
        return linen.Dense(1)(jnp.tanh(linen.Dense(4)(x)))[..., 0]


class Nnx(nnx.Module):
    def __init__(self, *, rngs):
        self.first = nnx.Linear(3, 4, rngs=rngs)
        self.last = nnx.Linear(4, 1, rngs=rngs)

    def __call__(self, x):
        return self.last(jnp.tanh(self.first(x)))[..., 0]


def linen_model(x, y, batch=None):
    net = random_flax_module("net", Linen(), prior=dist.Normal(0.0, 1.0), input_shape=(1, 3))
    with numpyro.plate("rows", x.shape[0], subsample_size=batch) as i:
        numpyro.sample("y", dist.Normal(net(x[i]), 0.3), obs=y[i])


def nnx_model(x, y, batch=None):
    net = random_nnx_module("net", Nnx(rngs=nnx.Rngs(0)), prior=dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", x.shape[0], subsample_size=batch) as i:
        numpyro.sample("y", dist.Normal(net(x[i]), 0.3), obs=y[i])


def check(model):
    assert_unbiased(model, X, Y, batch=4)
    for kernel in (SGLD(model, 1e-4), SGHMCSplit(model, 1e-2, gradient=FixedPoint())):
        mcmc = run(kernel, X, Y, batch=4, chains=2)
        draws = mcmc.get_samples()
        assert sum(value[0].size for value in draws.values()) == 3 * 4 + 4 + 4 + 1
        assert not mcmc.get_extra_fields()["diverging"].any()
        for name, value in draws.items():
            assert name.startswith("net/")
            assert np.isfinite(value).all() and np.ptp(np.asarray(value), axis=0).min() > 0


@pytest.mark.long
def test_linen_network():
    check(linen_model)


@pytest.mark.long
def test_nnx_network():
    check(nnx_model)
