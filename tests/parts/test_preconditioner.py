"""Preconditioners: S and S' belong together, and S = c I is a change of units."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import (
    Dense,
    Diagonal,
    ExactFriction,
    Hamiltonian,
    Identity,
    Langevin,
    Plain,
    Splitting,
)
from numpyro_sgmcmc.transition import Transition, Walker
from numpyro_sgmcmc.types import Minibatch

FACTOR = jax.random.normal(jax.random.key(0), (4, 4))
PARTS = {
    "identity": (Identity(), np.eye(4)),
    "diagonal": (Diagonal(jnp.arange(1.0, 5.0)), np.diag(np.arange(1.0, 5.0))),
    "dense": (Dense(FACTOR), np.asarray(FACTOR)),
}
DYNAMICS = [Langevin(), Hamiltonian(2.0), Splitting(2.0), ExactFriction(2.0)]
DENSE = FACTOR @ FACTOR.T / 4 + jnp.eye(4)


@pytest.mark.parametrize("name", PARTS)
def test_apply_and_transpose_are_adjoint(name):
    part, matrix = PARTS[name]
    y, gradient = jax.random.normal(jax.random.key(1), (2, 4))
    np.testing.assert_allclose(part.apply(y), matrix @ y, rtol=1e-5)
    np.testing.assert_allclose(part.transpose(gradient), matrix.T @ gradient, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        gradient @ part.apply(y), y @ part.transpose(gradient), rtol=1e-4, atol=1e-5
    )


def walk(potential, dynamics, preconditioner, position, momentum):
    """Five steps on fixed increments; return positions (5, 4)."""
    transition = Transition(dynamics, Plain(), preconditioner)
    aux = () if isinstance(dynamics, Langevin) else momentum
    walker, h = Walker(position, aux, ()), jnp.asarray(0.1)
    increments = jnp.sqrt(h) * jax.random.normal(jax.random.key(2), (5, 4))
    found = []
    for increment in increments:
        moved = transition.step(potential, walker, Minibatch({}), increment, h)
        assert not moved.diverging
        walker = moved.walker
        found.append(walker.position)
    return jnp.stack(found)


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("dynamics", DYNAMICS, ids=lambda d: type(d).__name__)
def test_the_distribution_is_that_of_the_whitened_potential(name, dynamics):
    # z = S y, and y is a run without preconditioner on U(S y). The distribution of y, and therefore
    # that of z, is known exactly.
    part, matrix = PARTS[name]

    def potential(z, minibatch):
        return z @ DENSE @ z / 20 + jnp.sin(z).sum()

    y, momentum = jax.random.normal(jax.random.key(3), (2, 4))
    whitened = walk(lambda y, b: potential(matrix @ y, b), dynamics, Identity(), y, momentum)
    found = walk(potential, dynamics, part, matrix @ y, momentum)
    np.testing.assert_allclose(found, whitened @ matrix.T, rtol=1e-4, atol=1e-4)
