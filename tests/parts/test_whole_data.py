"""Exact sums over blocks: value, gradient and Hessian, whatever the blocks and the plates."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer.util import potential_energy

from numpyro_sgmcmc.model import over_whole_data, read_structure, stochastic_potential
from numpyro_sgmcmc.model.whole_data import blocks_of
from numpyro_sgmcmc.types import Minibatch

KEYS = jax.random.split(jax.random.key(3), 2)
FIRST = jax.random.normal(KEYS[0], (7, 11))
SECOND = jax.random.normal(KEYS[1], (13,))


def one(batch):
    """One plate."""
    theta = numpyro.sample("theta", dist.LogNormal(0.0, 1.0))
    with numpyro.plate("rows", 13, subsample_size=batch) as rows:
        numpyro.sample("y", dist.StudentT(3.0, theta, 1.0), obs=SECOND[rows])


def many(batch):
    """Two crossed plates, another by itself, and a latent vector that all share."""
    theta = numpyro.sample("theta", dist.LogNormal(0.0, 1.0).expand([2]).to_event(1))
    with (
        numpyro.plate("a", 7, subsample_size=batch, dim=-2) as a,
        numpyro.plate("b", 11, subsample_size=batch, dim=-1) as b,
    ):
        numpyro.sample("ab", dist.StudentT(3.0, theta[0], theta[1]), obs=FIRST[a[:, None], b])
    with numpyro.plate("rows", 13, subsample_size=batch) as rows:
        numpyro.sample("y", dist.Laplace(theta.sum(), 1.0), obs=SECOND[rows] * theta[1])


def position_of(structure):
    return jnp.linspace(-0.3, 0.4, structure.dimension)


@cache
def exact_derivatives(model):
    """Value, gradient and Hessian of NumPyro's potential without subsampling."""
    structure = read_structure(model, (2,), {})

    def energy(position):
        return potential_energy(model, (None,), {}, structure.unravel(position))

    @jax.jit
    def derivatives(position):
        return *jax.value_and_grad(energy)(position), jax.hessian(energy)(position)

    return derivatives(position_of(structure))


@pytest.mark.parametrize(
    ("model", "block_size"), [(one, 4), (one, 10), (one, 1_000), (many, 10), (many, 1_000)]
)
def test_value_gradient_and_hessian(model, block_size):
    structure = read_structure(model, (2,), {})
    potential = stochastic_potential(structure, (2,), {})
    position = position_of(structure)

    @jax.jit
    def found(position):
        def derivatives(rows):
            batch = Minibatch(rows)
            value, gradient = jax.value_and_grad(potential)(position, batch)
            return value, gradient, jax.hessian(potential)(position, batch)

        return over_whole_data(structure, derivatives, block_size)

    value, gradient, hessian = found(position)
    exact = exact_derivatives(model)
    np.testing.assert_allclose(value, exact[0], rtol=1e-5)
    np.testing.assert_allclose(gradient, exact[1], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(hessian, exact[2], rtol=1e-4, atol=1e-4)


def test_blocks_are_bounded():
    structure = read_structure(many, (2,), {})
    sizes = []

    def note(rows):
        sizes.append({name: len(index) for name, index in rows.items()})
        return jnp.zeros(())

    over_whole_data(structure, note, 9)
    assert max(s["a"] * s["b"] for s in sizes) <= 9
    assert max(s["rows"] for s in sizes) <= 9


@pytest.mark.parametrize("size", [1, 9, 10, 97, 1_009, 30_011])
def test_blocks_of_one_shape_make_up_any_plate(size):
    blocks = blocks_of(size, 1_000)
    assert blocks.rows <= min(size, 1_000)
    assert blocks.whole * blocks.rows + [*blocks.counted, 0][1] == size
    weights = np.zeros(size)
    every = np.arange(blocks.rows)
    for block in range(blocks.whole + len(blocks.counted) - 1):
        kind = max(block - blocks.whole + 1, 0)
        rows = min(block, blocks.whole) * blocks.rows + every % blocks.counted[kind]
        np.add.at(weights, rows, blocks.shares[kind] / blocks.rows)
    np.testing.assert_allclose(weights, 1 / size, rtol=1e-12)


@pytest.mark.parametrize("block_size", range(1, 14))
def test_a_pass_holds_the_model_once(block_size):
    structure = read_structure(one, (2,), {})
    shapes = []

    def note(rows):
        shapes.append(rows["rows"].shape)
        return jnp.zeros(())

    over_whole_data(structure, note, block_size)
    assert len(shapes) == 1
