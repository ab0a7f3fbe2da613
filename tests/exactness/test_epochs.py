"""Minibatches by epochs: order of the exact stationary bias, and kernels against the exact values.

False-failure rate 7.5e-5 a comparison, two comparisons a simulated test; keys fixed.
"""

from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import (
    SGLD,
    UBU,
    ReshuffledMinibatch,
    SGHMCSplit,
    SweepMinibatch,
    UniformMinibatch,
)
from numpyro_sgmcmc.dynamics import ExactFriction, Langevin, Splitting
from numpyro_sgmcmc.stationary import relative_variance
from numpyro_sgmcmc.types import Plate
from tests.exactness.simulate import around, simulate
from tests.marks import rarely
from tests.oracles import linear
from tests.oracles.enumeration import rows_of
from tests.oracles.epochs import distribution
from tests.oracles.monte_carlo import assert_moments
from tests.oracles.recursion import DYNAMICS, stationary_covariance

FRICTION = 3.0
Y = np.array([[-1.0], [0.3], [1.2], [2.0]])
ALIKE = (np.ones((4, 1, 1)), Y, np.ones(1))
VARIED = (np.array([0.5, 1.0, 1.5, 0.8]).reshape(4, 1, 1), Y, np.ones(1))
SCHEMES = {
    "uniform": UniformMinibatch(replace=False),
    "reshuffled": ReshuffledMinibatch(),
    "sweep": SweepMinibatch(),
}
STEP_SIZES = np.array([0.00125, 0.0025, 0.005])
PARTS = {
    "langevin": Langevin(),
    "splitting": Splitting(FRICTION),
    "exact friction": ExactFriction(FRICTION),
}
STEPS = {"langevin": 0.08, "splitting": 0.25, "exact friction": 0.25}


def build(dynamics, h):
    return DYNAMICS[dynamics](h, np.eye(1), FRICTION)


def biases(dynamics, data, scheme):
    """Relative errors of the variance, and errors of the mean, at each step size."""
    posterior = linear.posterior(*data)
    distributions = [
        distribution(build(dynamics, h), rows_of(posterior), 1, h, scheme) for h in STEP_SIZES
    ]
    variances = np.array([c[0, 0] for _, c in distributions]) * posterior.hessian[0, 0] - 1
    return variances, np.array([mean[0] for mean, _ in distributions])


def slope(errors):
    return np.polyfit(np.log(STEP_SIZES), np.log(np.abs(errors)), 1)[0]


def test_oracle_is_the_discrete_lyapunov_equation_where_minibatches_are_independent():
    posterior = linear.posterior(*VARIED)
    for dynamics, h in (("langevin", 0.05), ("splitting", 0.1)):
        known = stationary_covariance(
            build(dynamics, h), posterior.hessian, posterior.noise(2, replace=False), h
        )
        _, found = distribution(build(dynamics, h), rows_of(posterior), 2, h, "uniform")
        np.testing.assert_allclose(found, known, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("scheme", ["reshuffled", "sweep"])
@pytest.mark.parametrize("dynamics", PARTS)
def test_theory_of_the_warm_up_and_the_verdict(dynamics, scheme, batch):
    """It is exact where the noise is the same at every position."""
    posterior, h = linear.posterior(*ALIKE), STEPS[dynamics]
    _, exact = distribution(build(dynamics, h), rows_of(posterior), batch, h, scheme)
    found = relative_variance(
        PARTS[dynamics],
        h,
        posterior.hessian[0],
        posterior.noise(batch, replace=False).at_mode[0],
        np.zeros(1),
        epoch=SCHEMES[scheme].epoch(Plate(4, batch)),
    )
    np.testing.assert_allclose(found, exact[0, 0] * posterior.hessian[0], rtol=1e-5)


@pytest.mark.parametrize(
    ("dynamics", "order"),
    [(Langevin(), 2), (Splitting(FRICTION), 3), (ExactFriction(FRICTION), 3)],
)
def test_order_of_what_noise_adds(dynamics, order):
    one, zero = np.ones(1), np.zeros(1)
    epoch = ReshuffledMinibatch().epoch(Plate(100, 10))
    added = [
        relative_variance(dynamics, h, one, one, zero, epoch=epoch)
        - relative_variance(dynamics, h, one, zero, zero)
        for h in STEP_SIZES
    ]
    assert slope(np.ravel(added)) == pytest.approx(order, abs=0.05)


@pytest.mark.parametrize("data", [ALIKE, VARIED], ids=["alike", "varied"])
@pytest.mark.parametrize("dynamics", ["splitting", "exact friction"])
def test_order_with_a_momentum(dynamics, data):
    """First order with independent minibatches; epochs cancel it, in either direction."""
    orders = {scheme: slope(biases(dynamics, data, scheme)[0]) for scheme in SCHEMES}
    assert orders["uniform"] == pytest.approx(1.0, abs=0.15)
    assert orders["reshuffled"] == pytest.approx(2.0, abs=0.3)
    assert orders["sweep"] == pytest.approx(2.0, abs=0.15)


def test_order_with_the_sweep_is_even():
    """Without the palindrome a third-order term is left: the ratio of errors tells."""
    for data in (ALIKE, VARIED):
        odd, even = (
            np.abs(errors[1:] / errors[:-1] / 4 - 1)
            for errors in (
                biases("splitting", data, scheme)[0] for scheme in SCHEMES if scheme != "uniform"
            )
        )
        assert (even < odd / 2).all()


@pytest.mark.parametrize("scheme", ["reshuffled", "sweep"])
def test_langevin_keeps_its_own_order(scheme):
    variances, means = biases("langevin", VARIED, scheme)
    assert slope(variances) == pytest.approx(1.0, abs=0.15)
    assert slope(means) == pytest.approx(1.0, abs=0.15)


CASES = [
    ("exact friction", "sweep", 1),
    ("exact friction", "reshuffled", 2),
    ("langevin", "reshuffled", 1),
    ("langevin", "sweep", 2),
    ("splitting", "reshuffled", 2),
    ("splitting", "sweep", 1),
    ("langevin", "reshuffled", 2),
    ("langevin", "sweep", 1),
    ("splitting", "reshuffled", 1),
    ("splitting", "sweep", 2),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("dynamics", "scheme", "batch"),
    rarely(CASES, CASES[:6]),
)
def test_kernel_against_the_exact_distribution(dynamics, scheme, batch):
    posterior, rows = linear.posterior(*VARIED), rows_of(linear.posterior(*VARIED))
    h = STEPS[dynamics]
    mean, covariance = distribution(build(dynamics, h), rows, batch, h, scheme)
    _, independent = distribution(build(dynamics, h), rows, batch, h, "uniform")
    assert abs(independent[0, 0] / covariance[0, 0] - 1) > 0.05  # or the test would tell nothing
    model = partial(linear.model, subsample_size=batch)
    kernel = {
        "langevin": SGLD(model, h, minibatch=SCHEMES[scheme]),
        "splitting": SGHMCSplit(model, h, friction=FRICTION, minibatch=SCHEMES[scheme]),
        "exact friction": UBU(model, h, friction=FRICTION, minibatch=SCHEMES[scheme]),
    }[dynamics]
    start = around(posterior.mode, np.linalg.inv(posterior.hessian), 2_000)
    arrays = [jnp.asarray(x, jnp.float32) for x in VARIED]
    (draws,) = simulate(kernel, arrays, chains=2_000, burn_in=160, draws=160, start=start)
    exact = posterior.mode + mean[:1]
    assert_moments(np.asarray(draws), exact, covariance[:1, :1])
