"""Kernels with old gradients against the exact recursion of their first and second moments.

There are 400 chains of one parameter. Each distribution needs 2 comparisons at 4 standard errors
(t with 399 degrees of freedom), each with a false-failure rate of 7.5e-5; keys are fixed.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import (
    SGHMC,
    SGLD,
    Dense,
    FixedPoint,
    GeometricDelay,
    SGHMCSplit,
    StaleGradient,
    UniformDelay,
)
from tests.exactness.simulate import around, simulate
from tests.marks import briefly
from tests.oracles import linear, stale
from tests.oracles.monte_carlo import assert_moments

CHAINS, ROWS, BATCH = 400, 50, 10
MODEL = partial(linear.model, subsample_size=BATCH)


def location_data():
    """Rows of one design, so that the gradient noise does not depend on the position."""
    y = 0.7 + jax.random.normal(jax.random.key(5), (ROWS, 1))
    return jnp.ones((ROWS, 1, 1)), y, jnp.ones(1)


DATA = location_data()
EXACT = linear.posterior(*DATA)
CURVATURE = float(EXACT.hessian[0, 0])
SCALE = CURVATURE**-0.5
WHITE = {"preconditioner": Dense(jnp.array([[SCALE]]))}
BUILD = {
    "langevin": lambda h: SGLD(MODEL, h, **WHITE),
    "hamiltonian": lambda h: SGHMC(MODEL, h, friction=1.5, **WHITE),
    "splitting": lambda h: SGHMCSplit(MODEL, h, friction=1.5, **WHITE),
}
STEP_SIZE = {"langevin": 0.02, "hamiltonian": 0.1, "splitting": 0.1}
LAWS = {
    "fixed": (3, None, stale.fixed(3)),
    "uniform": (UniformDelay(6), None, stale.uniform(6)),
    "geometric": (GeometricDelay(3.0), 8, stale.geometric(3.0, 8)),
}
CASES = [(name, law, None) for name in BUILD for law in LAWS] + [
    (name, law, remedy)
    for remedy, names in (("friction", ("hamiltonian", "splitting")), ("curvature", tuple(BUILD)))
    for name in names
    for law in LAWS
]
QUICK = [
    ("splitting", "fixed", None),
    ("splitting", "uniform", "friction"),
]
LONG = [
    ("hamiltonian", "fixed", "curvature"),
    ("langevin", "geometric", None),
    ("hamiltonian", "uniform", None),
    ("splitting", "geometric", None),
    ("hamiltonian", "geometric", "friction"),
    ("splitting", "fixed", "friction"),
    ("langevin", "uniform", "curvature"),
    ("splitting", "geometric", "curvature"),
]


def check(kernel, expected):
    start = around(EXACT.mode, np.linalg.inv(EXACT.hessian), CHAINS)
    (draws,) = simulate(kernel, DATA, chains=CHAINS, burn_in=300, draws=400, start=start)
    assert_moments(draws, EXACT.mode, np.array([[expected / CURVATURE]]))


@pytest.mark.parametrize(("name", "law", "remedy"), briefly(CASES, QUICK, LONG))
def test_kernel_has_the_distribution_of_the_recursion(name, law, remedy):
    """A wrong curvature, 0.8 of the true one, so that remedies leave something to see."""
    delay, bound, ages = LAWS[law]
    h, assumed = STEP_SIZE[name], 0.8
    given = None if remedy is None else np.array([assumed * CURVATURE])
    kernel = StaleGradient(
        BUILD[name](h), delay, max_staleness=bound, remedy=remedy, curvature=given
    )
    noise = float(EXACT.noise(BATCH).at_mode[0, 0]) * SCALE**2
    numbers = {"noise": noise, "known": assumed if remedy == "curvature" else 0.0}
    if remedy == "friction":
        numbers["damping"] = assumed * float(ages @ np.arange(len(ages)))
    check(kernel, stale.relative(name, h, 1.0, ages, **numbers))


@pytest.mark.long
def test_control_variates_are_taken_at_the_old_point():
    """A fixed point has no noise here: what is left is the age alone."""
    anchor = {"theta": jnp.asarray(EXACT.mode + 0.1, jnp.float32)}
    inner = SGHMCSplit(MODEL, 0.1, friction=1.5, gradient=FixedPoint(anchor), **WHITE)
    check(StaleGradient(inner, 3), stale.relative("splitting", 0.1, 1.0, stale.fixed(3)))


def test_the_true_curvature_makes_ages_invisible():
    inner = BUILD["splitting"](0.1)
    noise = float(EXACT.noise(BATCH).at_mode[0, 0]) * SCALE**2
    expected = stale.relative("splitting", 0.1, 1.0, stale.fixed(0), noise=noise)
    check(StaleGradient(inner, 40, remedy="curvature"), expected)
