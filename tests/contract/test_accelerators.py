"""On accelerators a transition has no conditional and no loop of unknown length.

The processor would have to wait there for the device at each transition. Minibatches of distinct
rows need such a loop, and so do epochs of N rows if N is no product of two numbers near its root.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import numpyro_sgmcmc as sg
from tests.contract.problem import ANCHOR, data, model
from tests.marks import briefly

SCHEMES = {
    "uniform": sg.UniformMinibatch(),
    "contiguous": sg.ContiguousMinibatch(),
    "reshuffled": sg.ReshuffledMinibatch(),
    "sweep": sg.SweepMinibatch(),
}
KERNELS = {
    "SGLD": partial(sg.SGLD, model, 1e-3),
    "SGLDFP": partial(sg.SGLDFP, model, 1e-3, anchor=ANCHOR),
    "SAGALD": partial(sg.SAGALD, model, 1e-3),
    "SGHMCSplit": partial(sg.SGHMCSplit, model, 1e-3, friction=5.0),
    "SGMCLMC": partial(sg.SGMCLMC, model, 1e-3, friction=5.0),
    "SGNHT": partial(sg.SGNHT, model, 1e-3, friction=5.0),
    "SGRRLD": partial(sg.SGRRLD, model, 1e-3),
    "UBU": partial(sg.UBU, model, 1e-3, friction=5.0),
}
WAITING = {"cond", "while"}


def primitives(jaxpr):
    """Return the names of all primitives of a program."""
    found = set()
    for equation in jaxpr.eqns:
        found.add(equation.primitive.name)
        for value in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda leaf: hasattr(leaf, "eqns")
        ):
            inner = getattr(value, "jaxpr", value)
            if hasattr(inner, "eqns"):
                found |= primitives(inner)
    return found


def program(kernel):
    keys = jax.random.split(jax.random.key(0), 2)
    state = kernel.init(keys, 0, None, data(), {})
    return jax.make_jaxpr(lambda s: kernel.sample(s, data(), {}))(state).jaxpr


@pytest.fixture
def on_a_gpu(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")


@pytest.mark.parametrize("name", briefly(list(KERNELS), ["SGLDFP", "SGHMCSplit", "SGRRLD"]))
def test_kernels(on_a_gpu, name):
    assert not primitives(program(KERNELS[name](num_steps=3))) & WAITING


@pytest.mark.parametrize("name", briefly(list(SCHEMES), ["uniform", "sweep"]))
def test_minibatches(on_a_gpu, name):
    kernel = KERNELS["SGLD"](num_steps=3, minibatch=SCHEMES[name])
    assert not primitives(program(kernel)) & WAITING


def test_large_models(on_a_gpu):
    """The code for CPUs that large models use has conditionals."""

    def large(y):
        z = numpyro.sample("z", dist.Normal(0.0, 1.0).expand([2**16]).to_event(1))
        with numpyro.plate("rows", len(y), subsample_size=4) as rows:
            numpyro.sample("y", dist.Normal(z[:4], 1.0), obs=y[rows])

    y = jnp.asarray(np.zeros(8, np.float32))
    kernel = sg.SGLD(large, 1e-3, num_steps=3)
    state = kernel.init(jax.random.key(0), 0, None, (y,), {})
    found = primitives(jax.make_jaxpr(lambda s: kernel.sample(s, (y,), {}))(state).jaxpr)
    assert not found & WAITING
