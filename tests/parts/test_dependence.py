"""Which deterministic sites belong to a draw, and which to a minibatch."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer.util import constrain_fn

from numpyro_sgmcmc import SGLD
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.model.dependence import depends_on, depends_through


def test_depends_on_what_is_computed_from_the_argument():
    constant = jnp.arange(3.0)

    def outputs(x):
        inner = jax.jit(lambda v: v * 2)(x)
        looped = jax.lax.fori_loop(0, 3, lambda _, v: v + x[0], 0.0)
        return {
            "itself": x,
            "computed": jnp.sin(x).sum(),
            "jitted": inner,
            "looped": looped,
            "constant": constant.sum(),
            "literal": 3.0,
            "indexed": constant[jnp.int32(x[0])],
            "shape": jnp.zeros(x.shape),
            "tuple": (constant, x + 1),
        }

    found = depends_on(outputs, jnp.ones(2))
    yes = {name for name, answer in found.items() if answer}
    assert yes == {"itself", "computed", "jitted", "looped", "indexed", "tuple"}


def test_sites_of_a_minibatch_are_no_sites_of_a_draw():
    def model(x):
        theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
        numpyro.deterministic("square", theta**2)
        numpyro.deterministic("all_rows", theta * x)
        with numpyro.plate("rows", 6, subsample_size=2) as rows:
            numpyro.deterministic("some_rows", theta * x[rows])
            numpyro.sample("y", dist.Normal(theta, 1.0), obs=x[rows])

    structure = read_structure(model, (jnp.arange(6.0),), {})
    assert structure.minibatch_sites == {"some_rows"}
    assert not structure.is_random
    found = structure.constrain({"theta": jnp.array(2.0)}, (jnp.arange(6.0),), {})
    assert set(found) == {"theta", "square", "all_rows"}
    assert found["square"] == 4.0


def test_large_arrays_on_the_way_are_found():
    rows = jnp.ones((100, 2))

    def outputs(x):
        return {
            "fitted": rows @ x,
            "mean": jnp.mean(rows @ x),
            "jitted": jax.jit(lambda v: (rows @ v).sum())(x),
            "small": x.sum(),
            "of_data_alone": rows.sum(),
            "both": x * rows.sum(),
        }

    found = depends_through(outputs, jnp.ones(2), 100)
    assert {name for name, yes in found.items() if yes} == {"fitted", "mean", "jitted"}
    assert not any(depends_through(outputs, jnp.ones(2), 101).values())


def test_sites_that_take_a_pass_over_the_data_are_left_out_of_draws():
    size = 20_000

    def model(x):
        theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
        numpyro.deterministic("square", theta**2)
        numpyro.deterministic("average", jnp.mean(theta * x))
        with numpyro.plate("rows", size, subsample_size=2) as rows:
            numpyro.sample("y", dist.Normal(theta, 1.0), obs=x[rows])

    x = jnp.arange(float(size))
    structure = read_structure(model, (x,), {})
    assert structure.costly_sites == {"average"}
    assert set(structure.constrain({"theta": jnp.array(2.0)}, (x,), {})) == {"theta", "square"}
    kernel = SGLD(model, 1e-9)
    with pytest.warns(UserWarning, match=r"'average' take a pass over the data.*Predictive"):
        kernel.init(jax.random.key(0), 0, None, (x,), {})


def test_transforms_alone_constrain_where_nothing_else_follows():
    def plain():
        numpyro.sample("scale", dist.HalfNormal(2.0))
        numpyro.sample("share", dist.Uniform(-1.0, 3.0))

    def dynamic():
        scale = numpyro.sample("scale", dist.HalfNormal(2.0))
        numpyro.sample("share", dist.Uniform(-scale, 3.0))

    z = {"scale": jnp.array(0.3), "share": jnp.array(-0.8)}
    for model, is_static in ((plain, True), (dynamic, False)):
        structure = read_structure(model, (), {})
        assert (structure.transforms is not None) == is_static
        exact = constrain_fn(model, (), {}, z)
        found = structure.constrain(z, (), {})
        assert found.keys() == exact.keys()
        for name in exact:
            np.testing.assert_allclose(found[name], exact[name], rtol=1e-6)
