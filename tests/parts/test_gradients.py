"""Gradient estimators: without bias, over all minibatches, on a model that is not Gaussian."""

from itertools import permutations, product

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer.util import potential_energy

from numpyro_sgmcmc import FixedPoint, Plain
from numpyro_sgmcmc.gradient import Anchor
from numpyro_sgmcmc.model import read_structure, stochastic_potential
from numpyro_sgmcmc.types import Minibatch

ROWS = 5
X = jax.random.normal(jax.random.key(0), (ROWS, 2))
Y = jnp.array([0, 3, 1, 0, 2])
POSITIONS = jnp.array([[0.2, -0.5, 0.7], [-1.0, 0.4, -0.6], [0.0, 0.0, 0.0]])


def model(x, y, batch):
    """Counts with a gamma-distributed rate: neither the likelihood nor the prior is Gaussian."""
    scale = numpyro.sample("scale", dist.Gamma(2.0, 1.0))
    w = numpyro.sample("w", dist.StudentT(4.0, 0.0, 1.0).expand([2]).to_event(1))
    with numpyro.plate("rows", ROWS, subsample_size=batch) as rows:
        rate = scale * jnp.exp(x[rows] @ w)
        numpyro.sample("y", dist.NegativeBinomial2(rate, 2.0), obs=y[rows])


STRUCTURE = read_structure(model, (X, Y, 2), {})
POTENTIAL = stochastic_potential(STRUCTURE, (X, Y, 2), {})


@jax.jit
def whole(position):
    """Value and gradient of NumPyro's potential without subsampling."""
    return jax.value_and_grad(
        lambda z: potential_energy(model, (X, Y, None), {}, STRUCTURE.unravel(z))
    )(position)


def anchored(position):
    return Anchor(position, *whole(position))


ESTIMATORS = {
    "plain": (Plain(), ()),
    "at a mode": (FixedPoint(), anchored(jnp.array([0.1, 0.2, -0.1]))),
    "far away": (FixedPoint(), anchored(jnp.array([2.0, -1.0, 1.5]))),
}


@pytest.mark.parametrize("replace", [True, False], ids=["with", "without"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_mean_over_all_minibatches_is_the_full_gradient(name, replace):
    estimator, state = ESTIMATORS[name]
    pairs = product(range(ROWS), repeat=2) if replace else permutations(range(ROWS), 2)
    batches = jnp.array(list(pairs))

    @jax.jit
    @jax.vmap
    def mean(position):
        def estimate(rows):
            found, _ = estimator.estimate(POTENTIAL, position, Minibatch({"rows": rows}), state)
            return found

        return jax.tree.map(lambda x: x.mean(0), jax.vmap(estimate)(batches))

    energy, gradient = jax.vmap(whole)(POSITIONS)
    found = mean(POSITIONS)
    np.testing.assert_allclose(found.potential_energy, energy, rtol=1e-5)
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-4, atol=1e-4)


def test_fixed_point_has_no_noise_at_its_anchor():
    estimator, state = ESTIMATORS["far away"]

    @jax.jit
    def estimate(rows):
        batch = Minibatch({"rows": rows})
        found, after = estimator.estimate(POTENTIAL, state.position, batch, state)
        assert after is state
        return found

    for rows in ([0, 0], [1, 4]):
        found = estimate(jnp.array(rows))
        np.testing.assert_allclose(found.gradient, state.gradient, rtol=1e-5)
        np.testing.assert_allclose(found.potential_energy, state.potential_energy, rtol=1e-5)


def test_plain_is_the_minibatch_gradient():
    @jax.jit
    def gradients(rows):
        batch = Minibatch({"rows": rows})
        found, _ = Plain().estimate(POTENTIAL, POSITIONS[0], batch, ())
        return found.gradient, jax.grad(POTENTIAL)(POSITIONS[0], batch)

    twice, expected = gradients(jnp.array([1, 1]))
    once, _ = gradients(jnp.array([1]))
    np.testing.assert_allclose(twice, once, rtol=1e-5)
    np.testing.assert_allclose(twice, expected, rtol=1e-6)
