"""What old gradients do to a Gaussian's variance: exact recursions, and orders of their bias.

Nothing is simulated; test_stale_gradients.py tests that kernels have these distributions.
"""

import numpy as np
import pytest

from numpyro_sgmcmc.dynamics import (
    ExactFriction,
    Hamiltonian,
    Langevin,
    Splitting,
)
from numpyro_sgmcmc.staleness import UniformDelay
from numpyro_sgmcmc.stationary import Ageing, relative_variance
from tests.oracles import stale
from tests.oracles.recursion import DYNAMICS as RECURSIONS
from tests.oracles.slope import order

H, FRICTION = 0.1, 1.5
LAWS = {"fixed": stale.fixed(3), "uniform": stale.uniform(6), "geometric": stale.geometric(3, 8)}
DYNAMICS = {
    "langevin": Langevin(),
    "hamiltonian": Hamiltonian(FRICTION),
    "splitting": Splitting(FRICTION),
    "exact friction": ExactFriction(FRICTION),
}


def mean_of(ages):
    return ages @ np.arange(len(ages))


def theory(dynamics, h, curvature, ages, known=0.0, damping=0.0, noise=0.0):
    one = np.ones(1)
    aged = Ageing(ages, known * one, damping * one)
    return relative_variance(dynamics, h, curvature * one, noise * one, 0 * one, aged)[0]


@pytest.mark.parametrize("law", sorted(LAWS))
@pytest.mark.parametrize("name", sorted(DYNAMICS))
def test_theory_is_the_whole_second_moment(name, law):
    """Derivatives of the dynamics' step are taken in single precision: 1e-4 as for no delay."""
    ages = LAWS[law]
    damped = 0.0 if name == "langevin" else mean_of(ages) * 2.25
    for known, damping in ((0.0, 0.0), (1.8, 0.0), (0.0, damped)):
        numbers = {"known": known, "damping": damping, "noise": 0.7}
        expected = stale.relative(name, H, 2.25, ages, **numbers)
        found = theory(DYNAMICS[name], H, 2.25, ages, **numbers)
        np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_no_age_is_the_recursion_without_ages():
    for dynamics in DYNAMICS.values():
        curvature, noise, none = np.array([0.5, 1.3]), np.array([0.2, 0.0]), np.zeros(2)
        plain = relative_variance(dynamics, 0.2, curvature, noise, none)
        aged = Ageing(stale.fixed(0), none, none)
        np.testing.assert_array_equal(
            plain, relative_variance(dynamics, 0.2, curvature, noise, none, aged)
        )


def kicked(curvature, ages, *, known=0.0, mean=0.0):
    """Return the relative variance of the integrator behind the figures of the next test."""
    total = FRICTION + mean * H * curvature
    recursion = stale.kick_first(H, total, FRICTION)
    return curvature * stale.covariance(recursion, curvature, ages, H, known=known)[0, 0]


def test_published_figures_are_of_gradients_one_transition_older():
    """The figures for "mean age 3" come from a loop that reads z_(l - k - 1) for age k > 0.

    With that age they are exact; with age 3 itself both the bias and what remedies leave is
    smaller.
    """
    older = np.r_[1 / 7, 0, np.full(6, 1 / 7)]  # uniform on 0, ..., 6: 0, or one more
    four, three = stale.fixed(4), stale.fixed(3)
    assert kicked(1.0, four) == pytest.approx(1.35, abs=5e-3)
    assert kicked(2.25, four) == pytest.approx(2.35, abs=5e-3)
    assert kicked(1.0, four, mean=3) == pytest.approx(1.07, abs=5e-3)
    assert kicked(1.0, older, mean=3) == pytest.approx(1.05, abs=5e-3)
    assert kicked(2.25, older, mean=3) == pytest.approx(1.11, abs=6e-3)
    for ages in (four, older):
        for curvature in (1.0, 2.25):
            assert kicked(curvature, ages, known=curvature) == pytest.approx(1.0, abs=2e-3)
    assert kicked(1.0, four, known=0.7) == pytest.approx(1.09, abs=6e-3)
    assert kicked(1.0, four, known=1.3) == pytest.approx(0.93, abs=5e-3)
    # Ages as they are named.
    assert kicked(1.0, three) == pytest.approx(1.25, abs=5e-3)
    assert kicked(2.25, three) == pytest.approx(1.78, abs=5e-3)
    for ages in LAWS.values():
        assert abs(kicked(1.0, ages, mean=mean_of(ages)) - 1) < 0.02
        assert abs(kicked(2.25, ages, mean=mean_of(ages)) - 1) < 0.06


def bias_of(dynamics, ages, known=0.0, damping=0.0):
    def bias(h):
        found = stale.relative(dynamics, h, 1.0, ages, known=known, damping=damping)
        return np.array([[found - 1]])

    return bias


STEP_SIZES = np.array([0.0005, 0.001, 0.002])


@pytest.mark.parametrize("law", sorted(LAWS))
@pytest.mark.parametrize("dynamics", ["hamiltonian", "splitting"])
def test_orders_of_the_bias(dynamics, law):
    """First order without a remedy or with a wrong curvature; second order with either remedy."""
    ages = LAWS[law]
    mean = mean_of(ages)
    for expected, remedy in (
        (1, {}),
        (1, {"known": 0.7}),
        (1, {"damping": 0.7 * mean}),
        (2, {"damping": mean}),
        (2, {"known": 1.0}),
    ):
        assert abs(order(bias_of(dynamics, ages, **remedy), STEP_SIZES) - expected) < 0.15, remedy


@pytest.mark.parametrize("law", sorted(LAWS))
def test_the_bias_of_first_order_is_negative_friction(law):
    ages, h = LAWS[law], 1e-3
    mean = mean_of(ages)
    for curvature in (0.5, 2.0):
        pull = mean * h * curvature
        second_order = 40 * (h * max(curvature, 1.0)) ** 2 * (1 + mean) ** 2
        for known in (0.0, 0.7 * curvature):
            left = mean * h * (curvature - known)
            found = stale.relative("splitting", h, curvature, ages, known=known) - 1
            assert abs(found - left / (FRICTION - left)) < second_order
        found = stale.relative("langevin", h, curvature, ages) - 1
        assert abs(found - (pull + h * curvature / 2)) < second_order


@pytest.mark.parametrize("age", [20, 100])
def test_ages_beyond_the_memory_of_the_chain_are_unstable(age):
    """At D = 1.5 and h = 0.1 the position is forgotten after about 15 transitions.

    Friction by itself no longer helps; the true curvature always does.
    """
    ages, dynamics = stale.fixed(age), DYNAMICS["splitting"]
    assert np.isinf(theory(dynamics, H, 1.0, ages))
    assert theory(dynamics, H, 1.0, ages, known=1.0) == pytest.approx(1, abs=2e-3)
    assert not abs(theory(dynamics, H, 1.0, ages, damping=float(age)) - 1) < 0.05


def test_scattered_ages_can_lose_the_second_moment_before_the_first():
    """The mean settles, and the variance does not: gradients of scattered ages act as noise."""
    ages = 0.5 * stale.fixed(8) + 0.5 * np.pad(stale.fixed(0), (0, 8))
    for h, settles in ((0.1, True), (0.5, True), (0.6, False), (1.0, False)):
        recursion = RECURSIONS["langevin"](h, np.eye(1), FRICTION)
        each = [w * stale.matrix(recursion, 1.0, k, 8, 0.0) for k, w in enumerate(ages)]
        assert np.abs(np.linalg.eigvals(sum(each))).max() < 1
        expected = stale.relative("langevin", h, 1.0, ages)
        found = theory(DYNAMICS["langevin"], h, 1.0, ages)
        assert np.isfinite(expected) == np.isfinite(found) == settles
        if settles:
            assert found == pytest.approx(expected, rel=1e-3)


def test_a_direction_too_soft_for_single_precision_has_its_limit():
    curvature, none = np.array([1e-9, 1e-2]), np.zeros(2)
    for known in (none, 0.5 * curvature):
        aged = Ageing(UniformDelay(6).probabilities(), known, none)
        found = relative_variance(Splitting(2.0), 0.01, curvature, none, none, aged)
        np.testing.assert_allclose(found, 1, atol=2e-3)
