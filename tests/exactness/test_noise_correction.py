"""Noise correction against the exact distribution, where the plain kernel's bias is large."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import SGHMC, SGLD, UBU, SGHMCSplit
from numpyro_sgmcmc.correction import DenseCorrection, DiagonalCorrection
from numpyro_sgmcmc.dynamics import ExactFriction, Langevin, Splitting
from tests.exactness.simulate import around, simulate
from tests.exactness.test_stationary_distribution import BATCHED, FRICTION, LOCATION, REGRESSION
from tests.marks import briefly
from tests.oracles import linear
from tests.oracles.monte_carlo import assert_moments
from tests.oracles.recursion import DYNAMICS, stationary_covariance

CHAINS, BATCH = 400, 5
CASES = {
    "langevin": (SGLD, 0.0018, {}),
    "hamiltonian": (SGHMC, 0.015, {"friction": FRICTION}),
    "splitting": (SGHMCSplit, 0.015, {"friction": FRICTION}),
    "exact friction": (UBU, 0.015, {"friction": FRICTION}),
}
CORRECTED = [*((name, "dense") for name in CASES), ("splitting", "diagonal")]


def corrected(recursion, correction, dynamics, h):
    """The recursion whose increments are C dW."""
    heating = partial(dynamics.heating, step_size=h)
    reduced = jax.vmap(lambda dw: correction.reduce(dw, heating))(jnp.eye(2)).T
    count = recursion.heat.shape[1] // 2
    every = np.kron(np.eye(count), np.asarray(reduced, np.float64))
    return recursion._replace(heat=recursion.heat @ every)


def relative_errors(covariance, wanted):
    root = np.linalg.inv(np.linalg.cholesky(wanted))
    return np.linalg.eigvalsh(root @ covariance @ root.T) - 1


@pytest.mark.parametrize(("name", "kind"), briefly(CORRECTED, CORRECTED[2:3]))
def test_corrected_kernel_has_its_exact_distribution(name, kind):
    """Five comparisons of moments at 4 standard errors: false-failure rate 4e-4, fixed keys."""
    build, h, options = CASES[name]
    exact, size = linear.posterior(*LOCATION), slice(2)
    noise = exact.noise(BATCH)
    kernel = build(BATCHED, h, noise_correction=kind, **options)
    start = around(exact.mode, np.linalg.inv(exact.hessian), CHAINS)
    (draws,) = simulate(
        kernel, LOCATION, chains=CHAINS, burn_in=300, draws=300, start=start, fields=("z",)
    )
    plain = DYNAMICS[name](h, np.eye(2), FRICTION)
    dynamics = kernel.options.dynamics.with_friction(FRICTION)
    recursion = corrected(plain, kernel.memory.latest.tuned.correction, dynamics, h)
    covariance = stationary_covariance(recursion, exact.hessian, noise, h)[size, size]
    assert_moments(np.asarray(draws), exact.mode, covariance)
    wanted = stationary_covariance(plain, exact.hessian, exact.noise(None), h)[size, size]
    before = stationary_covariance(plain, exact.hessian, noise, h)[size, size]
    assert relative_errors(before, wanted).max() > 0.5
    if kind == "dense":
        # What is left comes from V's own error: 4 relative standard errors sqrt(2 / 2048) of a
        # variance, times the heating that it takes out (false-failure rate 6e-5 a direction).
        left = np.abs(relative_errors(covariance, wanted)).max()
        assert left < 4 * np.sqrt(2 / 2048) * relative_errors(before, wanted).max()


@pytest.mark.parametrize(
    ("name", "order"), [("langevin", 2), ("splitting", 3), ("exact friction", 3)]
)
def test_what_is_left_with_noise_that_varies(name, order):
    """V is its mean under the posterior: the first-order term cancels.

    The noise acts under the kernel's own distribution, whose bias is of the kernel's order. The
    remaining error is therefore of one order more.
    """
    exact = linear.posterior(*REGRESSION)
    noise = exact.noise(BATCH)
    posterior = np.linalg.inv(exact.hessian)
    spread = np.einsum("nij,jk,nlk->il", noise.linear, posterior, noise.linear)
    mean = noise.at_mode + noise.weight * spread / len(noise.linear)
    variances, axes = np.linalg.eigh(mean)
    correction = DenseCorrection(jnp.asarray(variances), jnp.asarray(axes))
    parts = {"splitting": Splitting, "exact friction": ExactFriction}
    dynamics = Langevin() if name == "langevin" else parts[name](FRICTION)
    steps = (0.001, 0.002) if name == "langevin" else (0.01, 0.02)
    left, before = [], []
    for h in steps:
        plain = DYNAMICS[name](h, np.eye(2), FRICTION)
        recursion = corrected(plain, correction, dynamics, h)
        wanted = stationary_covariance(plain, exact.hessian, exact.noise(None), h)[:2, :2]
        one = stationary_covariance(recursion, exact.hessian, noise, h)[:2, :2]
        other = stationary_covariance(plain, exact.hessian, noise, h)[:2, :2]
        left.append(np.abs(relative_errors(one, wanted)).max())
        before.append(np.abs(relative_errors(other, wanted)).max())
    assert abs(np.log2(before[1] / before[0]) - 1) < 0.15
    assert abs(np.log2(left[1] / left[0]) - order) < 0.15
    assert left[0] < before[0] / 5


def test_more_noise_than_can_be_taken_out_leaves_no_increment():
    heating = partial(Langevin().heating, step_size=1.0)
    found = DiagonalCorrection(jnp.array([0.5, 5.0])).reduce(jnp.ones(2), heating)
    np.testing.assert_allclose(found, [np.sqrt(0.75), 0.0], rtol=1e-6)
