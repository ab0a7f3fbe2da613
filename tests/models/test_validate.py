"""NumPyro's own checks: users get from our kernels what they get from NUTS, once."""

import warnings

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import NUTS

from numpyro_sgmcmc import SGLD
from numpyro_sgmcmc.model import read_structure
from tests.marks import briefly

Y = jnp.ones((6, 2))


def missing_plate(y, batch):
    m = numpyro.sample("m", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", 6, subsample_size=batch, dim=-2) as rows:
        numpyro.sample("y", dist.Normal(m, jnp.ones(2)), obs=y[rows])


def circular(y, batch):
    m = numpyro.sample("m", dist.VonMises(0.0, 2.0))
    with numpyro.plate("rows", 6, subsample_size=batch) as rows:
        numpyro.sample("y", dist.Normal(m, 1.0), obs=y[rows, 0])


def sound(y, batch):
    m = numpyro.sample("m", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    numpyro.sample("no_plate", dist.Normal(jnp.zeros(3), 1.0))
    with numpyro.plate("columns", 2, dim=-1), numpyro.plate("rows", 6, batch, dim=-2) as rows:
        numpyro.sample("y", dist.Normal(m, 1.0), obs=y[rows])


def of_numpyro(caught):
    words = ("Missing a plate", "circular sample site")
    return [w for w in caught if any(word in str(w.message) for word in words)]


@pytest.mark.parametrize(
    "model", briefly([missing_plate, circular, sound], [missing_plate, circular])
)
@pytest.mark.parametrize("batch", briefly([None, 2], [2]))
def test_warnings_are_those_of_nuts(model, batch):
    with warnings.catch_warnings(record=True) as theirs:
        warnings.simplefilter("always")
        NUTS(model).init(jax.random.key(0), 0, None, (Y, batch), {})
    with warnings.catch_warnings(record=True) as ours:
        warnings.simplefilter("always")
        SGLD(model, 0.01).init(jax.random.key(0), 0, None, (Y, batch), {})
    ours, theirs = of_numpyro(ours), of_numpyro(theirs)
    assert [str(w.message) for w in ours] == [str(w.message) for w in theirs]
    assert len(ours) == (model is not sound)
    assert all(w.filename == __file__ for w in ours)


def delta(y, batch):
    numpyro.sample("m", dist.Delta(1.0))


def sphere(y, batch):
    numpyro.sample("m", dist.ImproperUniform(dist.constraints.sphere, (), (3,)))


@pytest.mark.parametrize(
    ("model", "words"), [(delta, "delta distribution at site 'm'"), (sphere, "spherical")]
)
def test_latent_sites_that_nuts_refuses_are_refused(model, words):
    with pytest.raises(ValueError, match=words):
        read_structure(model, (Y, None), {})
