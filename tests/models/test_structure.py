"""The sites of a flat position."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from numpyro_sgmcmc.model import read_structure


def model(y):
    numpyro.sample("slope", dist.Normal(0, 1).expand([2, 3]).to_event(2))
    numpyro.sample("Level", dist.Normal(0, 1))
    with numpyro.plate("groups", 4):
        effect = numpyro.sample("effect", dist.Normal(0, 1))
    numpyro.sample("share", dist.Dirichlet(jnp.ones(3)))
    with numpyro.plate("rows", len(y), subsample_size=2) as rows:
        numpyro.sample("y", dist.Normal(effect.sum(), 1), obs=y[rows])


def test_each_entry_of_a_position_is_named_as_its_value_is_used():
    structure = read_structure(model, (jnp.zeros(5),), {})
    sites = structure.sites()
    assert sites.shape == (structure.dimension,) == (13,)
    for place, site in enumerate(sites):
        values = structure.unravel(jnp.zeros(13).at[place].set(1.0))
        assert [name for name, value in values.items() if np.any(value)] == [site]
