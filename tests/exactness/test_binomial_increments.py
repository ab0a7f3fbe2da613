"""Increments of kurtosis 2.875: fourth moments of Gaussian laws, and what they do to the order.

The covariances are those of normal increments (test_stationary_distribution.py).
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy.linalg import solve_discrete_lyapunov

from numpyro_sgmcmc import (
    SGLD,
    SGLDFP,
    SGRRLD,
    Langevin,
    RMSProp,
    SGHMCSplit,
    Splitting,
)
from numpyro_sgmcmc.kernels.stepping import stepper_of
from numpyro_sgmcmc.stepper import BINOMIAL_FROM
from tests.exactness.simulate import simulate
from tests.marks import briefly
from tests.oracles.cumulants import KURTOSIS, fourth_cumulant, fourth_moment
from tests.oracles.linear import Noise
from tests.oracles.monte_carlo import Z, assert_averages
from tests.oracles.recursion import DYNAMICS, stationary_covariance
from tests.oracles.slope import order

FRICTION = 1.5
SILENT = Noise(np.zeros((1, 1)), np.zeros((1, 1, 1)), 0.0)
STEP_SIZES = np.array([0.01, 0.02, 0.04])


def model(dimension=1):
    numpyro.sample("theta", dist.Normal(0.0, 1.0).expand([dimension]).to_event(1))


def moment(dynamics, h, kind):
    """E z^4 on U = z^2 / 2."""
    recursion = DYNAMICS[dynamics](h, np.eye(1), FRICTION)
    covariance = stationary_covariance(recursion, np.eye(1), SILENT, h)
    a = recursion.transition(np.eye(1))
    return fourth_moment(covariance, fourth_cumulant(a, recursion.heat, h, KURTOSIS[kind]))


@pytest.mark.parametrize(
    ("dynamics", "kind", "expected"),
    [
        ("langevin", "normal", 1),
        ("langevin", "binomial", 1),
        ("hamiltonian", "normal", 2),
        ("hamiltonian", "binomial", 1),
        ("splitting", "normal", 2),
        ("splitting", "binomial", 1),
    ],
)
def test_order_of_the_fourth_moment(dynamics, kind, expected):
    """Binomial increments make every scheme first order; steps are where their term dominates."""
    steps = STEP_SIZES if kind == "normal" or expected == 2 else STEP_SIZES / 10
    slope = order(lambda h: moment(dynamics, h, kind) - 3, steps)
    assert slope == pytest.approx(expected, abs=0.15)


def test_the_terms_that_the_documentation_states():
    for h in (1e-3, 2e-3):
        langevin = [moment("langevin", h, kind) / 3 - 1 for kind in ("normal", "binomial")]
        np.testing.assert_allclose(langevin, [h, h * (1 - 1 / 24)], rtol=2 * h)
        kurtosis = moment("splitting", h, "binomial") - moment("splitting", h, "normal")
        np.testing.assert_allclose(kurtosis / h, -0.0523, atol=5e-5)


def test_extrapolation_keeps_the_fourth_cumulant():
    """Walkers at h and h / 2 on one path: 2 fine - coarse is left with -h / 16, of first order."""
    for h in (1e-3, 2e-3):
        fine = 1 - h / 2
        step = np.diag([1 - h, fine**2])
        heat = np.sqrt(2) * np.array([[1.0, 1.0], [fine, 1.0]])
        covariance = solve_discrete_lyapunov(step, h / 2 * heat @ heat.T)
        left = {}
        for kind, kurtosis in KURTOSIS.items():
            cumulant = fourth_cumulant(step, heat, h / 2, kurtosis)
            coarse, fine_one = (fourth_moment(covariance, cumulant, i) for i in (0, 1))
            left[kind] = 2 * fine_one - coarse - 3
        assert abs(left["normal"]) < 3 * h**2
        np.testing.assert_allclose(left["binomial"] - left["normal"], -h / 16, rtol=3 * h)


CASES = {"langevin": (SGLD, 0.9), "splitting": (partial(SGHMCSplit, friction=FRICTION), 0.9)}


@pytest.mark.parametrize("dynamics", briefly(list(CASES), []))
def test_fourth_moments_of_kernels(dynamics):
    """Two comparisons at 4 standard errors, 7.5e-5 each; the other kind is further away."""
    build, h = CASES[dynamics]
    chains = 4_000
    start = jax.random.normal(jax.random.key(1), (chains, 8))
    found = {}
    for kind in KURTOSIS:
        kernel = build(partial(model, 8), h, increments=kind)
        (draws,) = simulate(kernel, (), chains=chains, burn_in=20, draws=400, start=start)
        by_chain = (np.asarray(draws, np.float64) ** 4).mean((1, 2))[:, None]
        assert_averages(by_chain, np.array([moment(dynamics, h, kind)]))
        found[kind] = by_chain.std(ddof=1) / np.sqrt(chains)
    gap = moment(dynamics, h, "normal") - moment(dynamics, h, "binomial")
    assert gap > 2 * Z * max(found.values())


def increments_of(kernel, dimension):
    """Increments of temperature 1 and step size 1."""
    state = kernel.init(jax.random.key(0), 0, {"theta": jnp.zeros(dimension)}, (dimension,), {})
    stepper = stepper_of(kernel.options, kernel.structure, (dimension,), {}, state.tuned)
    return stepper.increment(jax.random.key(1), jnp.zeros(dimension), jnp.ones(()))


@pytest.mark.parametrize(
    ("build", "dimension", "expected"),
    [
        (SGLD, BINOMIAL_FROM, True),
        (SGLDFP, BINOMIAL_FROM, True),
        (SGLD, BINOMIAL_FROM - 1, False),
        (partial(SGLD, increments="normal"), BINOMIAL_FROM, False),
        (partial(SGLD, increments="binomial"), 10, True),
        (partial(SGLD, preconditioner=RMSProp()), BINOMIAL_FROM, False),
        (partial(SGHMCSplit, friction=1.0), BINOMIAL_FROM, False),
        (SGRRLD, BINOMIAL_FROM, False),
    ],
)
def test_default(build, dimension, expected):
    kernel = build(model, 1e-3)
    found = np.asarray(increments_of(kernel, dimension), np.float64)
    if kernel.options.increments is None:
        expected = expected and jax.default_backend() == "cpu"
    assert (set(found) <= set(np.arange(-8, 9) / 2)) is expected


def test_default_on_other_devices_is_normal(monkeypatch):
    kernel = SGLD(model, 1e-3)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert len(set(np.asarray(increments_of(kernel, BINOMIAL_FROM)))) > 17


def test_signs_of_binomial_increments_are_refused():
    with pytest.raises(TypeError, match='constant preconditioner with increments="binomial"'):
        SGLD(model, 1e-3, preconditioner=RMSProp(), increments="binomial")


@pytest.mark.parametrize("value", ["gaussian", True, 16, ["normal"]])
def test_other_kinds_are_refused(value):
    with pytest.raises(ValueError, match='Expected `increments` to be "normal", "binomial" or No'):
        SGLD(model, 1e-3, increments=value)


def test_orders_on_which_the_default_rests():
    assert Langevin().order == 1 and Splitting(1.0).order == 2
