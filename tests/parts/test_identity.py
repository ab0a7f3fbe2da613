"""Programs that are compiled for a part are told apart by all that the part is."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import SAGA, SVRG, Dense, Diagonal, FixedPoint, Plain, RMSProp
from numpyro_sgmcmc.dynamics import ExactFriction, Hamiltonian, Langevin, Splitting
from numpyro_sgmcmc.gradient import AbstractGradient
from numpyro_sgmcmc.identity import identity_of
from numpyro_sgmcmc.preconditioner import Identity
from numpyro_sgmcmc.preparation.noise import measured_noise
from numpyro_sgmcmc.preparation.windows import Window
from tests.oracles import linear
from tests.parts.test_warmup import TARGET, target_of

LANGEVIN = Langevin()
DIFFERENT = [
    Plain,
    FixedPoint,
    lambda: FixedPoint({"w": jnp.ones(2)}),
    lambda: FixedPoint({"w": 2 * jnp.ones(2)}),
    SVRG,
    partial(SVRG, 10),
    partial(SVRG, 100),
    SAGA,
    partial(SAGA, 1000),
    Langevin,
    Hamiltonian,
    Splitting,
    ExactFriction,
    partial(Splitting, 1.0),
    partial(Splitting, 2.0),
    lambda: Splitting(jnp.array(2.0)),
    lambda: Diagonal(jnp.ones(2)),
    lambda: Diagonal(jnp.ones(3)),
    lambda: Dense(jnp.ones((2, 2))),
    RMSProp,
    partial(RMSProp, damping=2.0),
]


@dataclass(frozen=True)
class Amplified(AbstractGradient):
    """Minibatch gradients times a factor: an option that changes what is measured."""

    factor: float
    has_constant_state = True

    def init(self, whole, position, anchor):
        return ()

    def estimate(self, potential, position, minibatch, state):
        found, state = Plain().estimate(potential, position, minibatch, state)
        return jax.tree.map(lambda x: self.factor * x, found), state


def test_parts_are_told_apart_by_value():
    keys = [identity_of(make()) for make in DIFFERENT]
    assert len(set(keys)) == len(DIFFERENT)
    assert keys == [identity_of(make()) for make in DIFFERENT]


def test_a_part_that_cannot_be_hashed_or_is_traced_counts_as_itself():
    @dataclass
    class Loose:
        number: int

    one, two = Loose(1), Loose(1)
    assert identity_of(one) == identity_of(one) != identity_of(two)

    @jax.jit
    def traced(scale):
        part = Diagonal(scale)
        assert identity_of(part) == identity_of(part) != identity_of(Diagonal(2 * scale))
        return scale

    traced(jnp.ones(2))


def test_estimators_of_one_class_are_measured_each_by_itself():
    """Noise of twice the gradient has four times the variance."""
    target = target_of(linear.model, *TARGET.args)
    points = jnp.zeros((4, target.structure.dimension))
    one, two = (
        measured_noise(target, jax.random.key(0), Amplified(f), Identity(), None, points).largest
        for f in (1.0, 2.0)
    )
    np.testing.assert_allclose(two, 4 * one, rtol=1e-4)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Window(LANGEVIN, SVRG(10), 1.0), Window(LANGEVIN, SVRG(100), 1.0)),
        (Window(Splitting(1.0), Plain(), 1.0), Window(Splitting(2.0), Plain(), 1.0)),
    ],
    ids=["gradient", "dynamics"],
)
def test_windows_have_programs_of_their_own(one, other):
    assert one._name != other._name


def test_equal_windows_share_a_program():
    assert len({Window(Splitting(1.0), SVRG(10), 1.0)._name for _ in range(2)}) == 1
