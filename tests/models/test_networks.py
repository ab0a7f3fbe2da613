"""Bayesian neural networks through NumPyro's Flax and Equinox modules."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from flax import linen, nnx
from numpyro.contrib.module import random_eqx_module, random_flax_module, random_nnx_module

from numpyro_sgmcmc import SGLD, FixedPoint, SGHMCSplit
from numpyro_sgmcmc.model import read_structure, stochastic_potential
from numpyro_sgmcmc.types import Minibatch
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


class Equinox(eqx.Module):
    first: eqx.nn.Linear
    last: eqx.nn.Linear
    dropout: eqx.nn.Dropout

    def __init__(self, rate):
        self.first = eqx.nn.Linear(3, 4, key=jax.random.key(0))
        self.last = eqx.nn.Linear(4, 1, key=jax.random.key(1))
        self.dropout = eqx.nn.Dropout(rate, inference=rate == 0)

    def __call__(self, x, key=None):
        return self.last(self.dropout(jnp.tanh(self.first(x)), key=key))[0]


EQUINOX = Equinox(0.0)


def equinox_model(x, y, batch=None):
    net = random_eqx_module("net", EQUINOX, prior=dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", x.shape[0], subsample_size=batch) as i:
        numpyro.sample("y", dist.Normal(jax.vmap(net)(x[i]), 0.3), obs=y[i])


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


@pytest.mark.long
def test_equinox_network():
    check(equinox_model)


class LinenState(linen.Module):
    trains: bool

    @linen.compact
    def __call__(self, x):
        x = linen.BatchNorm(use_running_average=not self.trains)(linen.Dense(4)(x))
        return linen.Dense(1)(x)[..., 0]


class NnxState(Nnx):
    def __init__(self, part, *, rngs):
        super().__init__(rngs=rngs)
        self.part = part

    def __call__(self, x):
        return self.last(self.part(self.first(x)))[..., 0]


def nnx_norm(trains):
    rngs = nnx.Rngs(0)
    return NnxState(nnx.BatchNorm(4, use_running_average=not trains, rngs=rngs), rngs=rngs)


def nnx_dropout(trains):
    rngs = nnx.Rngs(0)
    return NnxState(nnx.Dropout(0.5, deterministic=not trains, rngs=rngs), rngs=rngs)


PRIOR = dist.Normal(0.0, 1.0)


def declared(kind, trains):
    """Return a model of a network with state, and whether running it changes the state."""
    if kind == "Linen":

        def net():
            module = LinenState(trains)
            options = {"input_shape": (1, 3), "mutable": ["batch_stats"]}
            return random_flax_module("net", module, PRIOR, **options)

    else:
        module = {"NNX": nnx_norm, "NNX dropout": nnx_dropout}[kind](trains)

        def net():
            return random_nnx_module("net", module, PRIOR)

    def model(x, y, batch=None):
        network = net()
        with numpyro.plate("rows", x.shape[0], subsample_size=batch) as i:
            numpyro.sample("y", dist.Normal(network(x[i]), 0.3), obs=y[i])

    return model


KINDS = ("Linen", "NNX", "NNX dropout")


@pytest.mark.parametrize("kind", KINDS)
def test_state_that_a_model_changes_is_refused(kind):
    model = declared(kind, trains=True)
    with pytest.raises(ValueError, match=r"net\$state.*use_running_average=True.*prng_key"):
        read_structure(model, (X, Y), {"batch": 4})


@pytest.mark.parametrize("kind", KINDS)
def test_state_that_is_only_read_is_kept(kind):
    structure = read_structure(declared(kind, trains=False), (X, Y), {"batch": 4})
    assert "net$state" in structure.fixed and structure.dimension >= 3 * 4 + 4 + 4 + 1


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_potentials_of_networks_with_kept_state(kind):
    assert_unbiased(declared(kind, trains=False), X, Y, batch=4)


def linen_dropout(x, y, batch=None):
    class Network(linen.Module):
        @linen.compact
        def __call__(self, x):
            hidden = linen.Dropout(0.5, deterministic=False)(jnp.tanh(linen.Dense(4)(x)))
            return linen.Dense(1)(hidden)[..., 0]

    options = {"input_shape": (1, 3), "apply_rng": ["dropout"]}
    net = random_flax_module("net", Network(), PRIOR, **options)
    with numpyro.plate("rows", x.shape[0], subsample_size=batch) as i:
        means = net(x[i], rngs={"dropout": numpyro.prng_key()})
        numpyro.sample("y", dist.Normal(means, 0.3), obs=y[i])


EQUINOX_DROPOUT = Equinox(0.5)


def equinox_dropout(x, y, batch=None):
    net = random_eqx_module("net", EQUINOX_DROPOUT, prior=PRIOR)
    with numpyro.plate("rows", x.shape[0], subsample_size=batch) as i:
        keys = jax.random.split(numpyro.prng_key(), len(i))
        numpyro.sample("y", dist.Normal(jax.vmap(net)(x[i], keys), 0.3), obs=y[i])


@pytest.mark.parametrize("model", [linen_dropout, equinox_dropout])
def test_dropout_takes_the_key_of_the_step(model):
    options = {"batch": 4}
    structure = read_structure(model, (X, Y), options)
    assert structure.is_random
    potential = jax.jit(stochastic_potential(structure, (X, Y), options))
    position = 0.5 * jax.random.normal(jax.random.key(11), (structure.dimension,))

    def at(seed):
        return float(potential(position, Minibatch({"rows": jnp.arange(4)}, jax.random.key(seed))))

    assert at(0) == at(0)
    assert len({at(seed) for seed in range(8)}) > 1
