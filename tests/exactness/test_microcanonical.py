"""Microcanonical dynamics against a double-precision reference, exact variances and their order.

The momentum moves on a sphere, so there is no linear recursion. In two dimensions 400 chains are
compared with 2,000 of a reference that integrates the equations; in 64 dimensions variances are
compared with those of the linear dynamics that they become. Keys are fixed.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import SGMCLMC, SGMCMC, Microcanonical, RichardsonRomberg
from numpyro_sgmcmc.dynamics.linear_microcanonical import LinearMicrocanonical
from numpyro_sgmcmc.dynamics.microcanonical import OfFixedLength
from numpyro_sgmcmc.stationary import relative_variance
from tests.exactness.setting import additive_data
from tests.exactness.setting import run as run_chains
from tests.exactness.simulate import simulate
from tests.oracles import linear
from tests.oracles.monte_carlo import Z

DATA = additive_data()
POSTERIOR = linear.posterior(*DATA)
D = 4.0


def kicked(p, gradient, h, temperature, steps=40):
    """Return p after dp = -d / (d - 1) (I - p p' / (d T)) g dt for a time h, by Runge-Kutta."""
    d = p.shape[-1]

    def force(p):
        along = (p * gradient).sum(-1, keepdims=True) / (d * temperature)
        return -d / (d - 1) * (gradient - along * p)

    dt = h / steps
    for _ in range(steps):
        a = force(p)
        b = force(p + dt / 2 * a)
        c = force(p + dt / 2 * b)
        e = force(p + dt * c)
        p = p + dt / 6 * (a + 2 * b + 2 * c + e)
    return p


def reference(h, batch, temperature, chains=2_000, burn_in=400, steps=600, seed=0):
    """Return chain-wise averages of z z' about the mode, (chains, 3)."""
    rng = np.random.default_rng(seed)
    offsets, d = POSTERIOR.noise(1).constant, 2
    whole = np.sqrt(d * temperature)
    z = rng.multivariate_normal(np.zeros(d), temperature * np.linalg.inv(POSTERIOR.hessian), chains)
    p = rng.normal(size=(chains, d))
    p *= whole / np.linalg.norm(p, axis=1, keepdims=True)
    total = np.zeros((chains, 3))
    for step in range(burn_in + steps):
        z = z + h / 2 * p
        gradient = z @ POSTERIOR.hessian
        if batch:
            gradient = gradient + offsets[rng.integers(len(offsets), size=(chains, batch))].mean(1)
        p = kicked(p, gradient, h, temperature)
        z = z + h / 2 * p
        loud = np.sqrt((1 - np.exp(-2 * D * h)) * temperature)
        p = np.exp(-D * h) * p + loud * rng.normal(size=(chains, d))
        p *= whole / np.linalg.norm(p, axis=1, keepdims=True)
        if step >= burn_in:
            total += np.stack([z[:, 0] ** 2, z[:, 0] * z[:, 1], z[:, 1] ** 2], 1)
    return total / steps


@pytest.mark.parametrize(
    ("h", "batch", "temperature"),
    [
        pytest.param(0.05, 4, 1.0, marks=pytest.mark.long),
        (0.12, 4, 1.0),
        pytest.param(0.12, None, 2.5, marks=pytest.mark.long),
    ],
)
def test_against_the_reference(h, batch, temperature):
    """False-failure rate 7.5e-5 a comparison, three a case."""
    kernel = SGMCLMC(linear.model, h, friction=D, temperature=temperature)
    out = run_chains(kernel, DATA, batch, key=11, warmup=400, samples=600)
    z = out["z"] - POSTERIOR.mode
    ours = np.stack([z[..., 0] ** 2, z[..., 0] * z[..., 1], z[..., 1] ** 2], -1).mean(1)
    theirs = reference(h, batch, temperature)
    error = np.sqrt(ours.var(0, ddof=1) / len(ours) + theirs.var(0, ddof=1) / len(theirs))
    assert (np.abs(ours.mean(0) - theirs.mean(0)) < Z * error).all()


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_a_kick_is_the_flow_of_a_constant_gradient(temperature):
    key_p, key_g = jax.random.split(jax.random.key(1))
    dynamics = Microcanonical(0.0)
    start = dynamics.init(key_p, jnp.zeros(8), temperature)
    g, h = 3 * jax.random.normal(key_g, (8,)), 0.3
    moved, _ = dynamics.step(start, g, jnp.zeros(8), jnp.asarray(h))
    found = np.asarray(2 * moved / h - start.momentum, float)
    p = np.asarray(start.momentum, float)
    expected = kicked(p, np.asarray(g, float), h, temperature, steps=400)
    # Rounding errors: p has length 2.8 or 4.9, and displacements 7 digits.
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("strength", [1e-30, 1.0, 1e6, 1e18])
def test_gradients_of_any_size_leave_the_length(strength):
    dynamics = Microcanonical(2.0)
    start = dynamics.init(jax.random.key(0), jnp.zeros(50), 1.5)
    g = strength * jax.random.normal(jax.random.key(1), (50,))
    noise = 0.1 * jax.random.normal(jax.random.key(2), (50,))
    moved, after = dynamics.step(start, g, noise, jnp.asarray(0.1))
    assert np.isfinite(moved).all()
    np.testing.assert_allclose(after.momentum @ after.momentum, 75, rtol=1e-5)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_momentum_along_the_gradient_stays(sign):
    """The formula of the docstring would be 0 / 0 for a strong gradient."""
    dynamics, g = Microcanonical(0.0), jnp.array([30.0, -40.0])
    start = OfFixedLength(sign * jnp.sqrt(2.0) * g / 50, jnp.asarray(1.0))
    moved, after = dynamics.step(start, g, jnp.zeros(2), jnp.asarray(0.5))
    assert np.isfinite(moved).all()
    np.testing.assert_allclose(after.momentum @ after.momentum, 2, rtol=1e-5)
    if sign < 0:
        np.testing.assert_allclose(after.momentum, start.momentum, rtol=1e-5)


def test_no_gradient_turns_nothing():
    dynamics = Microcanonical(0.0)
    start = dynamics.init(jax.random.key(0), jnp.zeros(5), 1.0)
    moved, after = dynamics.step(start, jnp.zeros(5), jnp.zeros(5), jnp.asarray(0.1))
    np.testing.assert_allclose(moved, 0.1 * start.momentum, rtol=1e-5)
    np.testing.assert_allclose(after.momentum, start.momentum, rtol=1e-5)


@pytest.mark.parametrize("friction", [0.3, 2.0, 9.0])
@pytest.mark.parametrize("h", [0.1, 0.8])
def test_the_linear_dynamics_have_the_variance_of_their_docstring(friction, h):
    curvature, zero = np.array([0.25, 1.0, 3.0]), np.zeros(3)
    found = relative_variance(LinearMicrocanonical(friction), h, curvature, zero, zero)
    np.testing.assert_allclose(found, 1 - h**2 * curvature / 4, rtol=1e-5)


def logistic(y):
    flat = dist.ImproperUniform(dist.constraints.real_vector, (), (2,))
    theta = numpyro.sample("theta", flat)
    numpyro.sample("y", dist.Bernoulli(logits=theta).expand([ROWS, 2]).to_event(2), obs=y)


ROWS, ONES = 6, 4
GRID = np.linspace(-12, 12, 4_001)
DENSITY = np.exp(ONES * GRID - ROWS * np.logaddexp(0, GRID))


@pytest.mark.slow
def test_the_bias_is_of_second_order():
    """Bias at h and h / 2: 4 standard errors for both comparisons, 6e-5 each."""
    y = jnp.broadcast_to((np.arange(ROWS) < ONES)[:, None], (ROWS, 2)).astype(jnp.float32)
    exact, chains = np.average(GRID**2, weights=DENSITY), 4_000
    start = np.random.default_rng(2).choice(GRID, (chains, 2), p=DENSITY / DENSITY.sum())
    biases, errors = [], []
    for h in (1.0, 0.5):
        kernel = SGMCLMC(logistic, h, friction=2.0)
        plan = {"burn_in": int(20 / h), "draws": int(300 / h)}
        (z,) = simulate(kernel, (y,), chains=chains, start=start, **plan)
        by_chain = np.mean(np.asarray(z, np.float64) ** 2, axis=(1, 2)) - exact
        biases.append(by_chain.mean())
        errors.append(by_chain.std(ddof=1) / np.sqrt(chains))
    fourth, half = (
        (biases[1] - biases[0] / factor, Z * np.hypot(errors[1], errors[0] / factor))
        for factor in (4, 2)
    )
    # The next order, h^4, is at most a quarter of the bias at the larger step size.
    assert abs(fourth[0]) < fourth[1] + abs(biases[0]) / 16
    assert abs(half[0]) > half[1]


@pytest.mark.parametrize("build", [SGMCLMC, partial(SGMCMC, dynamics=Microcanonical(2.0))])
def test_it_does_not_optimise(build):
    with pytest.raises(ValueError, match=r"positive temperature.*got 0.*SGHMCSplit"):
        build(linear.model, 0.1, temperature=0)


@pytest.mark.parametrize(("batch", "expected"), [(None, (4 / 3, -1 / 3)), (4, (2, -1))])
def test_extrapolation_cancels_the_second_order_where_gradients_are_exact(batch, expected):
    kernel = RichardsonRomberg(SGMCLMC(linear.model, 0.1, friction=1.0))
    arrays = [jnp.asarray(x, jnp.float32) for x in DATA]
    kernel.init(jax.random.key(0), 0, None, (*arrays, batch), {})
    assert kernel.coefficients(kernel.structure) == pytest.approx(expected)


def test_one_dimension_is_refused():
    def model():
        numpyro.sample("theta", dist.Normal())

    kernel = SGMCLMC(model, 0.1, friction=1.0)
    with pytest.raises(ValueError, match=r"at least two unconstrained.*got 1.*SGHMCSplit"):
        kernel.init(jax.random.key(0), 0, None, (), {})
