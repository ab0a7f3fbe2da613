"""Discrete latent sites: summed out row by row and scaled after the sum."""

from functools import partial
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from jax.nn import logsumexp, softmax

from numpyro_sgmcmc.model import over_whole_data, read_structure, stochastic_potential
from numpyro_sgmcmc.results.whole import class_probabilities, log_likelihood
from numpyro_sgmcmc.types import Minibatch
from tests.marks import briefly, rarely
from tests.models import discrete
from tests.models.agreement import assert_unbiased
from tests.models.discrete import STATES, TABLE
from tests.oracles.discrete import summed_out, weights

LONG = [discrete.chain, discrete.outside, discrete.crossed]
ARGS = (TABLE,)


@pytest.mark.parametrize("model", briefly(list(STATES), [discrete.nested]))
def test_minibatches(model):
    """The mean over all minibatches is the sum over every assignment of states to all rows."""
    exact = partial(summed_out, states=STATES[model])
    assert_unbiased(model, TABLE, batch=2, exact_energy=exact)


def constrained(model, batch=2):
    """Return the structure of a model and a draw, with a leading axis of draws."""
    structure = read_structure(model, ARGS, {"batch": batch})
    position = 0.5 * jax.random.normal(jax.random.key(3), (structure.dimension,))
    args = (structure.unravel(position), ARGS, {"batch": batch})
    draw = structure.constrain(*args)
    return structure, {name: draw[name][None] for name in structure.prototype}


@pytest.mark.long
@pytest.mark.parametrize("model", rarely(list(STATES), LONG))
def test_class_probabilities(model):
    """They are the marginals of the posterior over every assignment of states to all rows."""
    structure, draws = constrained(model)
    every, probability = weights(
        model, ARGS, {"batch": None}, STATES[model], {n: x[0] for n, x in draws.items()}
    )
    for site, states in STATES[model].items():
        found = class_probabilities(structure, ARGS, {"batch": 2}, draws, site)
        expected = np.stack(
            [np.tensordot(probability, np.asarray(every[site] == s, float), 1) for s in states], -1
        )
        np.testing.assert_allclose(found[0], expected.reshape(found[0].shape), rtol=1e-4, atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("model", rarely(list(STATES), LONG))
def test_log_likelihoods_add_up(model):
    """With one latent in each row, their sum is the log of the joint density without the prior.

    A density of several sites has their names; rows have one each.
    """
    structure, draws = constrained(model)
    found = log_likelihood(structure, ARGS, {"batch": 2}, draws)
    total = sum(values.sum() for values in found.values())
    sites = {name: x[0] for name, x in draws.items()}

    def density(observed):
        bound = model if observed else numpyro.handlers.block(model, hide=structure.observed)
        every = weights(bound, ARGS, {"batch": None}, STATES[model], sites, normalised=False)[1]
        return logsumexp(every)

    np.testing.assert_allclose(total, density(True) - density(False), rtol=1e-4)


def test_names_of_joint_densities():
    structure, draws = constrained(discrete.chain)
    found = log_likelihood(structure, ARGS, {"batch": 2}, draws)
    assert {name: x.shape for name, x in found.items()} == {"y0+y2": (1, 4)}
    structure, draws = constrained(discrete.nested)
    found = log_likelihood(structure, ARGS, {"batch": 2}, draws)
    assert {name: x.shape for name, x in found.items()} == {"y": (1, 4)}
    structure, draws = constrained(discrete.outside)
    found = log_likelihood(structure, ARGS, {"batch": 2}, draws)
    assert {name: x.shape for name, x in found.items()} == {"prior_data": (1,), "y": (1, 4)}


def two_components(y, batch=2):
    mean = numpyro.sample("mean", dist.Normal(0.0, 2.0).expand([2]).to_event(1))
    with numpyro.plate("rows", y.shape[0], subsample_size=batch) as i:
        z = numpyro.sample("z", dist.Bernoulli(0.3))
        numpyro.sample("y", dist.Normal(mean[z], 1.0), obs=y[i])


def test_two_components_of_six_rows():
    """By hand: N / B times the sum of log densities, not log sums of their N / B-th powers."""
    y = jnp.array([-1.2, -0.4, 0.1, 0.9, 1.5, 2.2])
    mean = jnp.array([-0.5, 1.0])
    structure = read_structure(two_components, (y,), {})
    potential = stochastic_potential(structure, (y,), {})
    logits = jnp.log(jnp.array([0.7, 0.3])) + dist.Normal(mean, 1.0).log_prob(y[:, None])
    rows, prior = logsumexp(logits, axis=1), dist.Normal(0.0, 2.0).log_prob(mean).sum()
    batches = jnp.array(list(combinations(range(6), 2)))
    found = jax.vmap(lambda i: potential(mean, Minibatch({"rows": i})))(batches)
    np.testing.assert_allclose(found, -prior - 3.0 * rows[batches].sum(1), rtol=1e-5)
    np.testing.assert_allclose(found.mean(), -prior - rows.sum(), rtol=1e-5)
    states = class_probabilities(structure, (y,), {}, {"mean": mean[None]}, "z")
    np.testing.assert_allclose(states[0], softmax(logits, axis=1), rtol=1e-5)


def far_apart(y, batch=2):
    """Two observations of a row that only different states explain."""
    mean = numpyro.sample("mean", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", y.shape[0], subsample_size=batch) as i:
        z = numpyro.sample("z", dist.Bernoulli(0.5))
        numpyro.sample("a", dist.Normal(mean + 20.0 * z, 1.0), obs=y[i])
        numpyro.sample("b", dist.Normal(mean - 20.0 * z, 1.0), obs=y[i])


def test_sites_that_disagree_do_not_underflow():
    """Factors of exp(-200) for either state: their log densities are added before exponentials."""
    y = jnp.zeros(4)
    structure = read_structure(far_apart, (y,), {})
    at = jax.value_and_grad(stochastic_potential(structure, (y,), {}))
    energy, gradient = at(jnp.array([0.5]), Minibatch({"rows": jnp.arange(2)}))
    assert np.isfinite(energy) and np.isfinite(gradient).all()


def test_blocks_are_smaller_where_rows_have_states():
    """The memory of a pass over all rows is bounded by rows times states."""
    sizes = []

    def note(indices):
        sizes.append(indices["rows"].shape[0])
        return jnp.zeros(())

    structure = read_structure(discrete.mixture, ARGS, {"batch": 2})
    over_whole_data(structure, note, block_size=6)
    assert set(sizes) == {2}
