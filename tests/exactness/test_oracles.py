"""The oracles against closed forms, the papers' numbers and brute force."""

import itertools

import numpy as np
import pytest

from tests.exactness.setting import additive_data, recursion, varying_data
from tests.oracles import linear
from tests.oracles.linear import Noise
from tests.oracles.recursion import (
    DYNAMICS,
    langevin,
    pair_covariance,
    splitting,
    stationary_covariance,
)
from tests.registry import KERNELS

ONE = np.eye(1)


def scalar_noise(variance):
    return Noise(np.array([[1.0], [-1.0]]), np.zeros((2, 1, 1)), variance)


def test_langevin_closed_form():
    h, curvature, variance = 0.3, 2.0, 1.7
    found = stationary_covariance(langevin(h, ONE, 0.0), curvature * ONE, scalar_noise(variance), h)
    expected = (1 + h * variance / 2) / (curvature * (1 - h * curvature / 2))
    np.testing.assert_allclose(found, [[expected]])


def test_hamiltonian_closed_form():
    # pitfalls.md, bug 2: about 1.02 with the new momentum at D = 1, h = 0.3.
    h, friction, variance = 0.3, 1.0, 0.4
    step = DYNAMICS["hamiltonian"](h, ONE, friction)
    found = stationary_covariance(step, ONE, scalar_noise(variance), h)[0, 0]
    smooth = 1 / (1 - h**2 / (4 - 2 * friction * h))
    np.testing.assert_allclose(found, (1 + h * variance / (2 * friction)) * smooth)
    assert 1.02 < smooth < 1.03


@pytest.mark.parametrize("dynamics", sorted(DYNAMICS))
def test_small_steps_give_the_posterior(dynamics):
    posterior = linear.posterior(*additive_data())
    h = 1e-5
    step = DYNAMICS[dynamics](h, np.array([[0.5, 0.0], [0.2, 0.4]]), 7.0)
    found = stationary_covariance(step, posterior.hessian, posterior.noise(4), h)
    np.testing.assert_allclose(found[:2, :2], np.linalg.inv(posterior.hessian), rtol=2e-3)


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("off_mode", [True, False])
def test_noise_against_all_minibatches(replace, off_mode):
    posterior = linear.posterior(*varying_data(rows=5))
    anchor = np.array([0.3, 0.9]) if off_mode else None
    noise = posterior.noise(2, replace=replace, anchor=anchor)
    pairs = itertools.product(range(5), repeat=2)
    batches = np.array([pair for pair in pairs if replace or pair[0] != pair[1]])
    z = np.array([0.2, 0.1])

    def gradients(z):
        rows = posterior.row_hessians @ z - posterior.row_offsets
        return z + 5 * rows[batches].mean(1)

    found = gradients(z)
    if off_mode:
        full = posterior.hessian @ (anchor - posterior.mode)
        found = found - gradients(anchor) + full
    expected = posterior.hessian @ (z - posterior.mode)
    np.testing.assert_allclose(found.mean(0), expected, atol=1e-10)
    rows = noise.constant + noise.linear @ (z - posterior.mode)
    covariance = noise.weight * rows.T @ rows / len(rows)
    np.testing.assert_allclose(np.cov(found.T, bias=True), covariance, atol=1e-9)


def test_general_solver_agrees_with_lyapunov():
    posterior = linear.posterior(*additive_data())
    noise = posterior.noise(4)
    step = splitting(0.1, np.eye(2), 7.0)
    exact = stationary_covariance(step, posterior.hessian, noise, 0.1)
    nearly = noise._replace(linear=noise.linear + 1e-12)
    np.testing.assert_allclose(
        stationary_covariance(step, posterior.hessian, nearly, 0.1), exact, rtol=1e-6
    )


def test_pair_by_iteration():
    """The joint distribution from simulating the recursion's second moments as they are defined."""
    posterior = linear.posterior(*additive_data())
    noise, h = posterior.noise(4), 0.06
    build = recursion(KERNELS["SGHMC"])
    joint = pair_covariance(build, posterior.hessian, noise, h)
    size = len(joint) // 3
    coarse, fine = joint[:size, :size], joint[size : 2 * size, size : 2 * size]
    for block, step in ((coarse, h), (fine, h / 2)):
        alone = stationary_covariance(build(step), posterior.hessian, noise, step)
        np.testing.assert_allclose(block, alone, rtol=1e-8, atol=1e-12)
    # Without gradient noise the walkers follow one path as h goes to 0, and in any case nearly so.
    exact = pair_covariance(build, posterior.hessian, posterior.noise(None), 1e-3)
    ratio = exact[:2, size : size + 2] @ posterior.hessian
    np.testing.assert_allclose(ratio, np.eye(2), atol=1e-2)
