"""Order of accuracy on a Gaussian, by regression of the exact stationary bias on the step size.

Nothing is simulated; test_stationary_distribution.py tests that kernels have these distributions. A
slope differs from the order by the next term of the bias, at most 0.15 at these step sizes.
"""

import numpy as np
import pytest

from tests.exactness.setting import BATCH, FRICTION, additive_data, varying_data
from tests.oracles import linear
from tests.oracles.recursion import DYNAMICS, pair_covariance, stationary_covariance
from tests.oracles.slope import order

DATA = {"additive": additive_data(), "varying": varying_data()}
STEP_SIZES = {
    "langevin": np.array([1e-4, 2e-4, 4e-4]),
    "exact friction": np.array([0.0005, 0.001, 0.002]),
}
TOLERANCE = 0.15


def step_sizes(dynamics):
    return STEP_SIZES.get(dynamics, np.array([0.002, 0.004, 0.008]))


def biases(dynamics, data, batch, part=slice(0, 2)):
    """Return h -> stationary covariance of position or momentum, less its limit."""
    exact = linear.posterior(*DATA[data])
    target = np.linalg.inv(exact.hessian) if part.start == 0 else np.eye(2)

    def bias(h):
        build = DYNAMICS[dynamics](h, np.eye(2), FRICTION)
        covariance = stationary_covariance(build, exact.hessian, exact.noise(batch), h)
        return covariance[part, part] - target

    return bias


@pytest.mark.parametrize(
    ("dynamics", "expected"),
    [("langevin", 1), ("hamiltonian", 2), ("splitting", 2), ("exact friction", 2)],
)
def test_position_with_exact_gradients(dynamics, expected):
    bias = biases(dynamics, "additive", None)
    assert abs(order(bias, step_sizes(dynamics)) - expected) < TOLERANCE


@pytest.mark.parametrize(
    ("dynamics", "expected"), [("hamiltonian", 1), ("splitting", 2), ("exact friction", 2)]
)
def test_momentum_with_exact_gradients(dynamics, expected):
    bias = biases(dynamics, "additive", None, slice(2, 4))
    assert abs(order(bias, step_sizes(dynamics)) - expected) < TOLERANCE


@pytest.mark.parametrize("data", sorted(DATA))
@pytest.mark.parametrize("dynamics", sorted(DYNAMICS))
def test_minibatches_make_every_scheme_first_order(dynamics, data):
    """Whether or not the gradient noise depends on the position."""
    bias = biases(dynamics, data, BATCH)
    assert abs(order(bias, step_sizes(dynamics)) - 1) < TOLERANCE


@pytest.mark.parametrize("batch", [None, BATCH], ids=["exact gradients", "minibatches"])
@pytest.mark.parametrize("dynamics", sorted(DYNAMICS))
def test_richardson_romberg_is_second_order(dynamics, batch):
    """Durmus et al. (2016): fine first + fine second - coarse, by the exact joint distribution."""
    exact = linear.posterior(*DATA["additive"])
    target = np.linalg.inv(exact.hessian)

    def bias(h, extrapolated=True):
        build = lambda h: DYNAMICS[dynamics](h, np.eye(2), FRICTION)  # noqa: E731
        joint = pair_covariance(build, exact.hessian, exact.noise(batch), h)
        width = len(joint) // 3
        coarse, fine, halfway = (
            joint[walker * width :, walker * width :][:2, :2] for walker in range(3)
        )
        return (halfway + fine - coarse if extrapolated else fine) - target

    assert abs(order(bias, step_sizes(dynamics)) - 2) < TOLERANCE
    h = step_sizes(dynamics)[-1]
    if batch is not None:
        assert np.linalg.norm(bias(h)) < np.linalg.norm(bias(h, extrapolated=False)) / 3


def test_the_papers_setting_is_inflated_sixfold():
    """Chen, Ding and Carin (2015): N = 1000, B = 10, D = 10, h = 0.001, on rows of variance 1.

    Gradient noise V = N^2 / B = 1e5 makes the variance 1 + h V / (2 D) = 6 times the posterior's;
    a fixed point has no noise there. Discretisation adds less than h^2 H / 3, relatively.
    """
    n, batch, friction, h = 1_000, 10, 10.0, 1e-3
    y = np.tile([-1.0, 1.0], n // 2)[:, None] + 1.0
    exact = linear.posterior(np.ones((n, 1, 1)), y, np.ones(1))

    def inflation(dynamics, noise):
        build = DYNAMICS[dynamics](h, np.eye(1), friction)
        return stationary_covariance(build, exact.hessian, noise, h)[0, 0] * exact.hessian[0, 0]

    plain, fixed_point = exact.noise(batch), exact.noise(batch, anchor=exact.mode + 0.1)
    error = h**2 * exact.hessian[0, 0] / 3
    np.testing.assert_allclose(plain.at_mode, [[n**2 / batch]])
    for dynamics in ("splitting", "hamiltonian"):
        np.testing.assert_allclose(inflation(dynamics, plain), 6.0, rtol=error)
        np.testing.assert_allclose(inflation(dynamics, fixed_point), 1.0, rtol=error)
