"""Plates: several, nested, whole ones in between, and the idioms that index a minibatch."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer.util import potential_energy

from numpyro_sgmcmc import SGLD, SGLDFP, SGHMCSplit
from numpyro_sgmcmc.model import read_structure
from tests.marks import briefly
from tests.models.agreement import assert_moving_inside, assert_unbiased, run

KEYS = jax.random.split(jax.random.key(2), 4)
Y = jax.random.normal(KEYS[0], (12,))
X = jax.random.normal(KEYS[1], (7,))
TABLE = jax.random.normal(KEYS[2], (6, 7))
GROUP = jnp.arange(12) % 3


def independent(y, x, table, batch):
    """Two subsampled plates that share a latent site but no observation."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    with numpyro.plate("first", y.size, subsample_size=batch) as index:
        numpyro.sample("y", dist.Normal(theta, 1.0), obs=y[index])
    with numpyro.plate("second", x.size, subsample_size=batch) as index:
        numpyro.sample("x", dist.Normal(theta**2, 0.5), obs=x[index])


def crossed(y, x, table, batch):
    """Two nested subsampled plates."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    with (
        numpyro.plate("row", table.shape[0], subsample_size=batch, dim=-2) as rows,
        numpyro.plate("column", table.shape[1], subsample_size=batch, dim=-1) as columns,
    ):
        numpyro.sample("table", dist.Normal(theta, 1.0), obs=table[rows[:, None], columns])


def all_kinds(y, x, table, batch):
    """Rows crossed with columns, rows alone, another plate, and whole plates on either side."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    columns = numpyro.plate("column", table.shape[1], subsample_size=batch, dim=-1)
    with numpyro.plate("whole", table.shape[1], dim=-1):
        by_column = numpyro.sample("by_column", dist.Normal(theta, 1.0))
    with numpyro.plate("row", table.shape[0], subsample_size=batch, dim=-2) as rows:
        numpyro.sample("margin", dist.Normal(theta, 1.0), obs=table[rows, :1])
        with columns as index:
            mean = by_column[index]
            numpyro.sample("table", dist.Normal(mean, 1.0), obs=table[rows[:, None], index])
    with numpyro.plate("other", y.size, subsample_size=batch) as index:
        numpyro.sample("y", dist.StudentT(4.0, theta, 1.0), obs=y[index])
    with numpyro.plate("full", x.size):
        numpyro.sample("x", dist.Normal(theta, 1.0), obs=x)


def inner_whole(y, x, table, batch):
    """A whole plate inside a subsampled one."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0).expand([7]).to_event(1))
    with (
        numpyro.plate("row", table.shape[0], subsample_size=batch, dim=-2) as rows,
        numpyro.plate("column", table.shape[1], dim=-1),
    ):
        numpyro.sample("table", dist.Normal(theta, 1.0), obs=table[rows])


def grouped(y, x, table, batch):
    """Latent sites in a whole plate, indexed by the minibatch's groups."""
    spread = numpyro.sample("spread", dist.HalfNormal(1.0))
    with numpyro.plate("group", 3):
        effect = numpyro.sample("effect", dist.Normal(0.0, spread))
    with numpyro.plate("rows", y.size, subsample_size=batch) as index:
        numpyro.sample("y", dist.Normal(effect[GROUP[index]], 1.0), obs=y[index])


def subsample_primitive(y, x, table, batch):
    """`numpyro.subsample` instead of an index, for values with and without an event dimension."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", table.shape[0], subsample_size=batch):
        rows = numpyro.subsample(table, event_dim=1)
        offset = numpyro.subsample(y[: table.shape[0]], event_dim=0)
        likelihood = dist.Normal(theta + offset[..., None], 1.0).expand([*offset.shape, 7])
        numpyro.sample("table", likelihood.to_event(1), obs=rows)


def two_sites(y, x, table, batch):
    """Two observed sites in one plate, of which one is a `factor`."""
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", y.size, subsample_size=batch) as index:
        numpyro.sample("y", dist.Normal(theta, 1.0), obs=y[index])
        numpyro.factor("penalty", -0.1 * jnp.abs(theta - y[index]))
    numpyro.factor("prior", -(theta**4))


MODELS = [independent, crossed, all_kinds, inner_whole, grouped, subsample_primitive, two_sites]
QUICK = [subsample_primitive]


@pytest.mark.parametrize("model", briefly(MODELS, QUICK))
def test_minibatches(model):
    assert_unbiased(model, Y, X, TABLE, batch=3)
    mcmc = run(SGHMCSplit(model, 0.01, friction=5.0), Y, X, TABLE, batch=3)
    assert_moving_inside(mcmc, model, Y, X, TABLE, batch=None)


def test_groups_of_plates():
    structure = read_structure(all_kinds, (Y, X, TABLE), {"batch": 3})
    assert structure.groups == (("column", "row"), ("other",))
    assert structure.plates == {"column": (7, 3), "row": (6, 3), "other": (12, 3)}


@pytest.mark.parametrize("kernel", [SGLD(grouped, 1e-3), SGLDFP(grouped, 1e-3)])
def test_no_minibatch_gives_the_full_gradient(kernel):
    """Without subsampling every evaluation of U is exact (LMC), also with control variates."""
    mcmc = run(kernel, Y, X, TABLE, batch=None)
    assert kernel.structure.plates == {}
    assert kernel.adaptation is None
    assert_moving_inside(mcmc, grouped, Y, X, TABLE, batch=None)
    before = mcmc.last_state

    @jax.jit
    def energies(state):
        after = kernel.sample(state, (Y, X, TABLE), {"batch": None})
        exact = potential_energy(grouped, (Y, X, TABLE), {"batch": None}, state.z)
        return after.potential_energy, exact

    found, exact = energies(before)
    np.testing.assert_allclose(found, exact, rtol=1e-5)


def test_minibatch_as_large_as_the_plate_is_the_full_gradient():
    structure = read_structure(grouped, (Y, X, TABLE), {"batch": Y.size})
    assert structure.plates == {}


def no_latent_site(y, batch):
    with numpyro.plate("rows", y.size, subsample_size=batch) as index:
        numpyro.sample("y", dist.Normal(0.0, 1.0), obs=y[index])


@pytest.mark.parametrize(
    ("kernel", "step_size"),
    [
        (SGLDFP, None),
        pytest.param(SGLD, 0.1, marks=pytest.mark.long),
        pytest.param(SGHMCSplit, None, marks=pytest.mark.long),
        pytest.param(SGLD, None, marks=pytest.mark.long),
        pytest.param(SGLDFP, 0.1, marks=pytest.mark.long),
        pytest.param(SGHMCSplit, 0.1, marks=pytest.mark.long),
    ],
)
def test_no_latent_site(kernel, step_size):
    """An empty dict, as NUTS gives."""
    for chains in (1, 2):
        mcmc = run(kernel(no_latent_site, step_size), Y, batch=4, chains=chains, draws=3)
        assert mcmc.get_samples() == {}
