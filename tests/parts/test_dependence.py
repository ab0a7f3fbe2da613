"""Which deterministic sites belong to a draw, and which to a minibatch."""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from numpyro_sgmcmc.potential import read_structure
from numpyro_sgmcmc.potential.dependence import depends_on


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
