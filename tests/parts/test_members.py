"""What the parts say of themselves: each declared member against what the part does."""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import SAGA, SVRG, Dense, Diagonal, FixedPoint, Identity, Plain
from numpyro_sgmcmc.correction import DenseCorrection, DiagonalCorrection
from numpyro_sgmcmc.dynamics import (
    AbstractDynamics,
    ExactFriction,
    Hamiltonian,
    Langevin,
    Microcanonical,
    NoseHoover,
    Splitting,
)
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.types import Minibatch, Plate

ROWS, BATCH, DIMENSION = 64, 16, 20
X = jax.random.normal(jax.random.key(0), (ROWS, DIMENSION))
MIX = jax.random.normal(jax.random.key(2), (DIMENSION, DIMENSION))
FACTOR = jax.random.normal(jax.random.key(1), (3, 3)) + 3 * jnp.eye(3)


def energies(position, rows):
    return jnp.sum(jnp.tanh((X[rows] * position) @ MIX), axis=1)


def potential(position, minibatch):
    return ROWS * jnp.mean(energies(position, minibatch.indices["rows"]))


class Whole:
    """Exact passes over the data of `potential`."""

    plates: ClassVar = {"rows": Plate(ROWS, BATCH)}

    def value_and_grad(self, position):
        return jax.value_and_grad(potential)(position, Minibatch({"rows": jnp.arange(ROWS)}))

    def row_gradients(self, position):
        return ROWS * jax.jacrev(energies)(position, jnp.arange(ROWS))


ESTIMATORS = [Plain(), FixedPoint(), SVRG(), SAGA()]


def started(estimator):
    anchor = SVRG().init(Whole(), jnp.ones(DIMENSION), None) if estimator.needs_anchor else None
    return estimator.init(Whole(), jnp.ones(DIMENSION), anchor)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_gradients_per_step_counts_the_work(estimator):
    def flops(estimator):
        def gradient(position, rows, state):
            batch = Minibatch({"rows": rows})
            return estimator.estimate(potential, position, batch, state)[0].gradient

        inputs = jnp.zeros(DIMENSION), jnp.arange(BATCH), started(estimator)
        return jax.jit(gradient).lower(*inputs).cost_analysis()["flops"]

    # A gradient takes about 4 B d^2 operations; what an estimator adds takes a few B d.
    assert round(flops(estimator) / flops(Plain())) == estimator.gradients_per_step


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_constant_state_never_changes(estimator):
    state = started(estimator)
    batch = Minibatch({"rows": jnp.arange(BATCH)})
    _, after = estimator.estimate(potential, 2 * jnp.ones(DIMENSION), batch, state)
    same = all(map(np.array_equal, jax.tree.leaves(state), jax.tree.leaves(after)))
    renewed = estimator.renewal_period(Whole.plates) is not None
    assert estimator.has_constant_state == (same and not renewed)


def test_an_anchor_is_the_one_that_was_given():
    given = {"w": jnp.ones(2)}
    assert FixedPoint(given).anchor is given
    assert all(estimator.anchor is None for estimator in ESTIMATORS)


def test_an_estimator_of_another_author_is_not_taken_for_one_of_constant_state():
    class Own(AbstractGradient):
        init = estimate = lambda self: None

    own = Own()
    assert (own.has_constant_state, own.gradients_per_step, own.anchor) == (False, 1, None)


@pytest.mark.parametrize(
    "kind", [Hamiltonian, Splitting, ExactFriction, Microcanonical, NoseHoover]
)
def test_an_open_friction_is_filled_in_and_a_chosen_one_stays(kind):
    assert kind().needs_friction and not kind(2.0).needs_friction
    assert kind().with_friction(3.0) == kind(3.0)
    assert kind(2.0).with_friction(3.0) == kind(2.0)
    assert kind().with_friction(None) == kind()


def test_dynamics_without_friction_need_none():
    assert Langevin().friction is None and not Langevin().needs_friction
    assert Langevin().with_friction(3.0) == Langevin()


def test_a_member_of_another_meaning_is_not_mistaken_for_a_friction():
    @dataclass(frozen=True)
    class Dry(AbstractDynamics):
        """Dynamics whose `friction` is no parameter to be chosen."""

        friction: Any = None
        init = lookahead = step = heating = largest_step_size = relaxation_steps = lambda self: None

    assert Dry().with_friction(3.0) == Dry()


@pytest.mark.parametrize("linear", [Identity(), Diagonal(jnp.array([0.5, 2, 4])), Dense(FACTOR)])
def test_the_inverse_of_a_map_undoes_it(linear):
    z = jnp.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(linear.inverse().apply(linear.apply(z)), z, rtol=1e-5)
    matrix = jax.vmap(linear.apply, out_axes=1)(jnp.eye(3))
    assert linear.is_dense == bool(np.any(matrix - np.diag(np.diag(matrix))))


@pytest.mark.parametrize("axes", [None, np.linalg.qr(FACTOR)[0]], ids=["own", "others"])
def test_variances_of_a_correction_along_axes(axes):
    variances, directions = np.linalg.eigh(FACTOR @ FACTOR.T)
    dense = DenseCorrection(jnp.asarray(variances), jnp.asarray(directions))
    basis = np.eye(3) if axes is None else axes
    whole = np.asarray(FACTOR @ FACTOR.T)
    for correction, matrix in [(dense, whole), (dense.diagonal(), np.diag(np.diag(whole)))]:
        expected = np.diag(basis.T @ matrix @ basis)
        np.testing.assert_allclose(correction.along(axes), expected, rtol=1e-5)
        np.testing.assert_allclose(correction.at_temperature(4.0).along(axes), expected / 4, 1e-5)
    assert DiagonalCorrection(jnp.ones(3)).axes is None
