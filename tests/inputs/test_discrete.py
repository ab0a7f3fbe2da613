"""Discrete latent sites that cannot be summed out rightly are refused, with a remedy."""

import re

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers
from numpyro.contrib.control_flow import scan

from numpyro_sgmcmc.model import read_structure

Y = jnp.linspace(-1.0, 1.0, 6)
TABLE = jnp.ones((6, 4))


def mean():
    return numpyro.sample("mean", dist.Normal(0.0, 1.0))


def rows(batch=2, **options):
    return numpyro.plate("rows", 6, subsample_size=batch, **options)


def poisson(y):
    m = mean()
    with rows() as i:
        z = numpyro.sample("z", dist.Poisson(2.0))
        numpyro.sample("y", dist.Normal(m * z, 1.0), obs=y[i])


def sequential(y):
    m = mean()
    with rows() as i:
        z = numpyro.sample("z", dist.Bernoulli(0.5), infer={"enumerate": "sequential"})
        numpyro.sample("y", dist.Normal(m * z, 1.0), obs=y[i])


def event_of_all_rows(y):
    m = mean()
    z = numpyro.sample("z", dist.Bernoulli(0.5 * jnp.ones(3)).to_event(1))
    with rows() as i:
        numpyro.sample("y", dist.Normal(m * z.sum(), 1.0), obs=y[i])


def event(y):
    m = mean()
    with rows() as i:
        z = numpyro.sample("z", dist.Bernoulli(0.5 * jnp.ones(3)).to_event(1))
        numpyro.sample("y", dist.Normal(m * z.sum(-1), 1.0), obs=y[i])


def uneven(y):
    m = mean()
    with rows() as i:
        z = numpyro.sample("z", dist.Binomial(jnp.arange(1, 7)[i], 0.5))
        numpyro.sample("y", dist.Normal(m * z, 1.0), obs=y[i])


def many_states(y):
    m = mean()
    with rows() as i:
        z = numpyro.sample("z", dist.DiscreteUniform(0, 99_999))
        numpyro.sample("y", dist.Normal(m * z, 1.0), obs=y[i])


def many_sites(y):
    m = mean()
    with rows() as i:
        total = 0
        for k in range(14):
            total = total + numpyro.sample(f"z{k}", dist.Bernoulli(0.5))
        numpyro.sample("y", dist.Normal(m * total, 1.0), obs=y[i])


def dense_pairs(y):
    """No site has more than two parents, but every order of elimination joins five of them."""
    m = mean()
    with rows():
        z = [numpyro.sample(f"z{k}", dist.Categorical(jnp.ones(6) / 6)) for k in range(6)]
        for a in range(6):
            for b in range(a):
                numpyro.factor(f"f{a}{b}", -m * (z[a] == z[b]))


def outside(y):
    m = mean()
    z = numpyro.sample("z", dist.Bernoulli(0.5))
    with rows() as i:
        numpyro.sample("y", dist.Normal(m * z, 1.0), obs=y[i])


def outside_by_way_of_another(y):
    m = mean()
    z = numpyro.sample("z", dist.Bernoulli(0.5))
    with rows() as i:
        u = numpyro.sample("u", dist.Bernoulli(0.2 + 0.5 * z))
        numpyro.sample("y", dist.Normal(m * u, 1.0), obs=y[i])


def in_one_of_two_plates(y):
    m = mean()
    with rows(dim=-2) as i:
        z = numpyro.sample("z", dist.Bernoulli(0.5))
        with numpyro.plate("columns", 4, subsample_size=2, dim=-1) as j:
            numpyro.sample("t", dist.Normal(m * z, 1.0), obs=TABLE[i[:, None], j])


def crossed(y):
    m = mean()
    with numpyro.plate("a", 6, dim=-2):
        z = numpyro.sample("z", dist.Bernoulli(0.5))
    with numpyro.plate("b", 4, dim=-1):
        u = numpyro.sample("u", dist.Bernoulli(0.5))
    with numpyro.plate("a", 6, dim=-2), numpyro.plate("b", 4, dim=-1):
        numpyro.sample("t", dist.Normal(m * z * u, 1.0), obs=TABLE)


def sum_over_rows(y):
    m = mean()
    with rows():
        z = numpyro.sample("z", dist.Bernoulli(0.5))
    numpyro.sample("total", dist.Normal(m * z.sum(), 1.0), obs=1.0)


def sum_over_one_of_two(y):
    m = mean()
    with rows() as i:
        z = numpyro.sample("z", dist.Bernoulli(0.5))
        u = numpyro.sample("u", dist.Bernoulli(0.5))
        numpyro.sample("y", dist.Normal(m * z.sum() + u, 1.0), obs=y[i])


def pushed_left(y):
    """The steps of a scan lie where the states of another site would be, as many of them."""
    m = mean()

    def step(x, _):
        x = numpyro.sample("x", dist.Normal(x, 1.0))
        return x, x

    with rows() as i:
        z = numpyro.sample("z", dist.Bernoulli(0.5))
        numpyro.sample("u", dist.Bernoulli(0.5))
        numpyro.sample("y", dist.Normal(m * z, 1.0), obs=y[i])
    scan(step, m * jnp.squeeze(z), jnp.arange(2))


def used_outside(y):
    m = mean()
    with rows():
        z = numpyro.sample("z", dist.Bernoulli(0.5))
    numpyro.sample("total", dist.Normal(m * z, 1.0), obs=1.0)


def without_plate(y):
    m = mean()
    z = numpyro.sample("z", dist.Bernoulli(0.5))
    numpyro.sample("y", dist.Normal(m * z, 1.0), obs=y)


def in_scan(y):
    m = mean()

    def step(z, _):
        z = numpyro.sample("z", dist.Bernoulli(0.2 + 0.6 * z))
        return z, z

    _, z = scan(step, 0, jnp.arange(6))
    numpyro.sample("y", dist.Normal(m * z, 1.0).to_event(1), obs=y)


def substituted(y):
    m = mean()
    with rows() as i:
        draw = lambda: numpyro.sample("z", dist.Bernoulli(0.5))  # noqa: E731
        z = handlers.substitute(draw, data={"z": jnp.ones(2, int)})()
        numpyro.sample("y", dist.Normal(m * z, 1.0), obs=y[i])


def support_depends(y):
    z = numpyro.sample("z", dist.Bernoulli(0.5))
    numpyro.sample("x", dist.Uniform(0.0, 1.0 + z))


def continuous_in_plate(y):
    m = mean()
    with rows() as i:
        z = numpyro.sample("z", dist.Bernoulli(0.5))
        a = numpyro.sample("a", dist.Normal(m + z, 1.0))
        numpyro.sample("y", dist.Normal(a, 1.0), obs=y[i])


REFUSED = {
    poisson: "finitely many states; got the discrete site 'z' (Poisson), whose support is not",
    sequential: "at the discrete site 'z'; got 'sequential'",
    event_of_all_rows: "one number for each row; got the discrete site 'z' (BernoulliProbs) with",
    uneven: "same known number of states for all entries of the discrete site 'z' (BinomialProbs)",
    many_states: "at most 4,096 joint states of discrete sites for each row; got 100,000 for 'z'",
    outside: "Expected the discrete site 'z' inside the subsampled plate 'rows', because site 'y'",
    outside_by_way_of_another: "'z' inside the subsampled plate 'rows', because site 'u'",
    in_one_of_two_plates: "'z' inside the subsampled plate 'columns', because site 't'",
    crossed: "sum factorises over the rows of plates; got 'z' and 'u', which are in different",
    sum_over_rows: "Expected site 'total' to use the states of discrete sites row by row",
    sum_over_one_of_two: "density that depends on 'z' and has no dimension for its states",
    pushed_left: "Expected site 'x' to use the states of discrete sites row by row",
    used_outside: "depends on the discrete site 'z', to be inside its plate 'rows'; got it outside",
    without_plate: "Expected every batch dimension of site 'y' to have a plate",
    in_scan: "Expected the discrete site 'z' to be drawn by the model itself; got a value from",
    substituted: "Expected the discrete site 'z' to be drawn by the model itself; got a value from",
    support_depends: "support of the continuous site 'x' not to depend on discrete latent sites",
}
KEPT = event, many_sites, dense_pairs, continuous_in_plate


@pytest.mark.parametrize("model", REFUSED, ids=lambda model: model.__name__)
def test_refused(model):
    with pytest.raises(ValueError, match=re.escape(REFUSED[model])) as caught:
        read_structure(model, (Y,), {})
    assert str(caught.value).count(". ") >= 1  # the remedy


@pytest.mark.parametrize("model", KEPT, ids=lambda model: model.__name__)
def test_kept_for_all_rows_where_a_sum_is_impossible(model):
    structure = read_structure(model, (Y,), {})
    assert structure.enumeration.dims == {}
    names = [name for name in structure.local.names if name.startswith("z")]
    assert [site.name for site in structure.local.discrete] == names


def test_kept_for_all_rows_where_the_user_asks_for_it():
    structure = read_structure(sum_over_one_of_two, (Y,), {}, "gibbs")
    assert structure.local is not None and structure.enumeration.dims == {}


def test_all_rows_are_the_remedy_for_a_latent_outside():
    def whole(y):
        m = mean()
        z = numpyro.sample("z", dist.Bernoulli(0.5))
        with numpyro.plate("rows", 6) as i:
            numpyro.sample("y", dist.Normal(m * z, 1.0), obs=y[i])

    assert read_structure(whole, (Y,), {}).enumeration.plates == {"z": ()}


def test_long_chains_have_few_joint_states():
    """Eliminated one after the other, twenty binary sites in a row have at most four."""

    def markov(y):
        stay = numpyro.sample("stay", dist.Beta(2.0, 2.0))
        with rows() as i:
            z = 0
            for t in range(20):
                p = jnp.where(z == 1, stay, 1 - stay)
                z = numpyro.sample(f"z{t}", dist.Bernoulli(p))
            numpyro.sample("y", dist.Normal(z, 1.0), obs=y[i])

    assert read_structure(markov, (Y,), {}).enumeration.states == 4


def test_states_from_arguments():
    """A number of states that is an array: the structure is read with values."""

    def model(y, most):
        m = mean()
        with rows() as i:
            z = numpyro.sample("z", dist.Binomial(most, 0.5))
            numpyro.sample("y", dist.Normal(m * z, 1.0), obs=y[i])

    assert read_structure(model, (Y, jnp.array(3)), {}).enumeration.states == 4
