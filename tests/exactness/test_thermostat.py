"""SGNHT against a long double-precision reference, written from the equations once more.

The thermostat is not linear, so there is no closed form. 400 chains against 2,000 of the
reference; false-failure rate 7.5e-5 a comparison, keys fixed.
"""

import numpy as np
import pytest

from numpyro_sgmcmc import SGNHT
from tests.exactness.setting import SCALE, additive_data
from tests.exactness.setting import run as run_chains
from tests.oracles import linear
from tests.oracles.monte_carlo import Z

A, BATCH = 4.0, 4
DATA = additive_data()
POSTERIOR = linear.posterior(*DATA)


def reference(
    posterior, friction, h, batch, temperature=1.0, chains=2_000, burn_in=500, steps=500, seed=0
):
    """Return chain-wise averages of (z z', p . p / 2, xi) about the mode, (chains, 5)."""
    rng = np.random.default_rng(seed)
    offsets = posterior.noise(1).constant
    d = 2
    z = rng.multivariate_normal(np.zeros(d), np.linalg.inv(posterior.hessian), chains)
    p = np.sqrt(temperature) * rng.normal(size=(chains, d))
    xi = np.full((chains, 1), friction)
    total = np.zeros((chains, 5))
    for step in range(burn_in + steps):
        z = z + h / 2 * p
        xi = xi + h / 2 * ((p**2).sum(1, keepdims=True) / d - temperature)
        gradient = z @ posterior.hessian
        if batch:
            rows = rng.integers(len(offsets), size=(chains, batch))
            gradient = gradient + offsets[rows].mean(1)
        p = np.exp(-xi * h / 2) * p
        p = (
            p
            - h * gradient
            + np.sqrt(2 * friction * temperature * h) * rng.normal(size=(chains, d))
        )
        p = np.exp(-xi * h / 2) * p
        z = z + h / 2 * p
        xi = xi + h / 2 * ((p**2).sum(1, keepdims=True) / d - temperature)
        if step >= burn_in:
            kinetic = (p**2).sum(1) / d
            total += np.stack([z[:, 0] ** 2, z[:, 0] * z[:, 1], z[:, 1] ** 2, kinetic, xi[:, 0]], 1)
    return total / steps


def averages(kernel, data, mode, batch, key, steps):
    out = run_chains(kernel, data, batch, key=key, warmup=steps, samples=steps, fields=("aux",))
    z, p, xi = out["z"] - mode, out["aux"].momentum, out["aux"].friction
    kinetic = (p**2).sum(-1) / 2
    parts = [z[..., 0] ** 2, z[..., 0] * z[..., 1], z[..., 1] ** 2, kinetic, xi]
    return np.stack([x.mean(1) for x in parts], 1)


def assert_alike(ours, theirs):
    error = np.sqrt(ours.var(0, ddof=1) / len(ours) + theirs.var(0, ddof=1) / len(theirs))
    assert (np.abs(ours.mean(0) - theirs.mean(0)) < Z * error).all()


@pytest.mark.parametrize(
    ("h", "batch", "temperature"),
    [
        pytest.param(0.03, BATCH, 1.0, marks=pytest.mark.long),
        pytest.param(0.06, BATCH, 1.0, marks=pytest.mark.long),
        (0.1, BATCH, 1.0),
        pytest.param(0.12, None, 0.5, marks=pytest.mark.long),
    ],
)
def test_against_the_reference(h, batch, temperature):
    kernel = SGNHT(linear.model, h, friction=A, temperature=temperature)
    ours = averages(kernel, DATA, POSTERIOR.mode, batch, key=21, steps=500)
    assert_alike(ours, reference(POSTERIOR, A, h, batch, temperature))


@pytest.mark.long
def test_isotropic_gradient_noise_is_absorbed():
    """xi settles near A + h V / 2, and the variance is the posterior's where SGHMC's is not."""
    rng = np.random.default_rng(3)
    y = rng.normal(size=(20, 2))
    y = (y - y.mean(0)) @ np.linalg.inv(np.linalg.cholesky(np.cov(y.T, bias=True))).T * SCALE
    data = (np.broadcast_to(np.diag(SCALE), (20, 2, 2)).copy(), y, SCALE)
    exact = linear.posterior(*data)
    noise = exact.noise(1).at_mode
    np.testing.assert_allclose(noise, noise[0, 0] * np.eye(2), atol=1e-9 * noise[0, 0])
    h, friction = 0.02, 2.0
    heat = h * noise[0, 0] / 2
    assert heat > friction  # SGHMC's variance would be more than twice too large
    kernel = SGNHT(linear.model, h, friction=friction)
    ours = averages(kernel, data, exact.mode, 1, key=5, steps=1_500)
    assert_alike(ours, reference(exact, friction, h, 1, burn_in=1_000, steps=300))
    variance, friction_mean = ours[:, [0, 2]].mean(1), ours[:, 4]
    # What is left is of second order: `Splitting`'s h^2 (lambda / 4 + D^2 / 6) at D = A + h V / 2.
    left = h**2 * (exact.hessian[0, 0] / 4 + (friction + heat) ** 2 / 6)
    for found, expected in ((variance, 1 / exact.hessian[0, 0]), (friction_mean, friction + heat)):
        error = found.std(ddof=1) / np.sqrt(len(found))
        assert abs(found.mean() - expected) < Z * error + left * expected
