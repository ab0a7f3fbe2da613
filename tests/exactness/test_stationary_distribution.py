"""Every kernel's stationary distribution against the exact linear recursion.

There are 400 chains. Each distribution needs 5 comparisons at 4 standard errors (14 for pairs),
each with a false-failure rate of 7.5e-5 (t with 399 degrees of freedom). In all this is 4e-4 to
1e-3 for a distribution; keys are fixed.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import SGLD, SGLDFP, SGMCMC, UBU, Dense, Langevin, SGHMCSplit, UniformMinibatch
from tests.exactness.simulate import around, simulate
from tests.marks import briefly
from tests.oracles import linear
from tests.oracles.monte_carlo import assert_averages, assert_moments
from tests.oracles.recursion import DYNAMICS, pair_covariance, stationary_covariance
from tests.registry import KERNELS, make

CHAINS, ROWS, BATCH, FRICTION = 400, 50, 5, 6.0
STEP_SIZES = {
    "langevin": (0.004, 0.012, 0.02),
    "hamiltonian": (0.03, 0.09, 0.15),
    "splitting": (0.03, 0.09, 0.15),
    "exact friction": (0.03, 0.09, 0.15),
}


def location_data():
    """Rows that share one design: the gradient noise does not depend on the position."""
    key_y = jax.random.key(5)
    design = jnp.broadcast_to(jnp.array([[1.0, 0.0], [0.6, 0.8]]), (ROWS, 2, 2))
    y = jnp.array([1.0, -0.5]) + jax.random.normal(key_y, (ROWS, 2))
    return design, y, jnp.array([1.0, 1.6])


def regression_data(rows=30, seed=7):
    """Rows with designs of their own: the noise grows with the distance from the mode."""
    key_x, key_y = jax.random.split(jax.random.key(seed))
    design = jax.random.normal(key_x, (rows, 1, 2)) * jnp.array([1.0, 0.5])
    y = design @ jnp.array([0.7, -0.3]) + 0.8 * jax.random.normal(key_y, (rows, 1))
    return design, y, jnp.array([0.8])


LOCATION, REGRESSION = location_data(), regression_data()
BATCHED = partial(linear.model, subsample_size=BATCH)


def theta_of(exact):
    return {"theta": jnp.asarray(exact.mode, jnp.float32)}


QUICK = {"SGHMCSplit", "SGLDFP"}
LONG = {"SGLD", "SGHMC", "UBU", "SGRRHMC", "RichardsonRomberg(SGHMCSplit)"}
"""Kernels that the others combine: the distributions of those are checked by long tests."""


@pytest.mark.parametrize(
    "name",
    briefly([name for name, entry in KERNELS.items() if entry.is_linear], QUICK, LONG),
)
def test_kernel_with_known_gradient_noise(name):
    check_distribution(name, STEP_SIZES[KERNELS[name].dynamics])


@pytest.mark.parametrize(
    "name",
    briefly(
        ["SGLDFP", "SGHMCSplit", "SGHMC", "UBU", "RichardsonRomberg(SGHMCSplit)"], ["SGHMCSplit"]
    ),
)
def test_covariances_with_binomial_increments(name):
    """They are those of normal increments."""
    check_distribution(name, STEP_SIZES[KERNELS[name].dynamics], increments="binomial")


def check_distribution(name, step_sizes, burn_in=300, draws=300, **options):
    """Check the distribution of one run at each step size in turn."""
    entry = KERNELS[name]
    exact = linear.posterior(*LOCATION)
    anchor = exact.mode + 0.1 if entry.fixed_point else None
    noise = exact.noise(BATCH, replace=entry.replace, anchor=anchor)
    given = None if anchor is None else {"theta": jnp.asarray(anchor, jnp.float32)}
    length = burn_in + draws
    schedule = lambda i: jnp.asarray(step_sizes)[jnp.minimum(i // length, len(step_sizes) - 1)]  # noqa: E731
    with np.errstate(all="raise"):
        kernel = make(name, BATCHED, schedule, friction=FRICTION, anchor=given, **options)
    fields = ("z_coarse", "z", "z_halfway") if entry.pair else ("z",)
    start = around(exact.mode, np.linalg.inv(exact.hessian), CHAINS)
    walkers = simulate(
        kernel, LOCATION, chains=CHAINS, burn_in=0, draws=length * len(step_sizes), start=start,
        fields=fields,
    )  # fmt: skip
    draws_of = np.concatenate([np.asarray(w) for w in walkers], axis=2)
    build = lambda h: DYNAMICS[entry.dynamics](h, np.eye(2), FRICTION)  # noqa: E731
    for stage, h in enumerate(step_sizes):
        covariance, keep = stationary_covariance(build(h), exact.hessian, noise, h), np.arange(2)
        if entry.pair:
            covariance = pair_covariance(build, exact.hessian, noise, h)
            width = len(covariance) // 3
            keep = np.concatenate([np.arange(2) + width * walker for walker in range(3)])
        found = draws_of[:, stage * length + burn_in : (stage + 1) * length]
        assert_moments(found, np.tile(exact.mode, len(walkers)), covariance[np.ix_(keep, keep)])


@pytest.mark.parametrize(
    ("kind", "replace"),
    [
        ("fixed point", True),
        ("plain", False),
        pytest.param("plain", True, marks=pytest.mark.long),
        pytest.param("fixed point", False, marks=pytest.mark.long),
    ],
)
def test_multiplicative_noise(kind, replace):
    exact = linear.posterior(*REGRESSION)
    h, scheme = 0.01, UniformMinibatch(replace=replace)
    model = partial(linear.model, subsample_size=6)
    if kind == "plain":
        anchor, kernel = None, SGLD(model, h, minibatch=scheme)
    else:
        anchor = exact.mode + np.array([0.15, -0.1])
        given = {"theta": jnp.asarray(anchor, jnp.float32)}
        kernel = SGLDFP(model, h, anchor=given, minibatch=scheme)
    noise = exact.noise(6, replace=replace, anchor=anchor)
    recursion = DYNAMICS["langevin"](h, np.eye(2), FRICTION)
    covariance = stationary_covariance(recursion, exact.hessian, noise, h)
    start = around(exact.mode, np.linalg.inv(exact.hessian), CHAINS)
    (draws,) = simulate(kernel, REGRESSION, chains=CHAINS, burn_in=200, draws=200, start=start)
    assert_moments(draws, exact.mode, covariance)


@pytest.mark.parametrize("temperature", briefly([0.0, 2.0], [2.0]))
@pytest.mark.parametrize("dynamics", ["langevin", "splitting", "exact friction"])
def test_temperature_multiplies_the_variance_of_the_noise(dynamics, temperature):
    """At temperature 0 the distribution is that of SGD, caused by gradient noise only."""
    exact = linear.posterior(*LOCATION)
    h = STEP_SIZES[dynamics][1]
    build = {
        "langevin": SGLD,
        "splitting": partial(SGHMCSplit, friction=FRICTION),
        "exact friction": partial(UBU, friction=FRICTION),
    }[dynamics]
    recursion = DYNAMICS[dynamics](h, np.eye(2), FRICTION)
    covariance = stationary_covariance(
        recursion, exact.hessian, exact.noise(BATCH), h, temperature
    )[:2, :2]
    start = around(exact.mode, np.linalg.inv(exact.hessian), CHAINS)
    kernel = build(BATCHED, h, temperature=temperature)
    (draws,) = simulate(kernel, LOCATION, chains=CHAINS, burn_in=300, draws=300, start=start)
    assert_moments(draws, exact.mode, covariance)


def test_no_subsampling_is_langevin_monte_carlo():
    exact = linear.posterior(*LOCATION)
    recursion = DYNAMICS["langevin"](0.012, np.eye(2), FRICTION)
    covariance = stationary_covariance(recursion, exact.hessian, exact.noise(None), 0.012)
    start = around(exact.mode, np.linalg.inv(exact.hessian), CHAINS)
    kernel = SGLD(linear.model, 0.012)
    (draws,) = simulate(kernel, LOCATION, chains=CHAINS, burn_in=200, draws=300, start=start)
    assert_moments(draws, exact.mode, covariance)


@pytest.mark.parametrize("dynamics", ["langevin", "hamiltonian", "splitting", "exact friction"])
def test_preconditioned(dynamics):
    exact = linear.posterior(*LOCATION)
    factor = np.linalg.cholesky(np.linalg.inv(exact.hessian)) @ np.array([[1.0, 0.0], [0.3, 0.8]])
    h, friction = {"langevin": 0.05}.get(dynamics, 0.3), 1.5
    part = make("SGMCMC", BATCHED).options.dynamics
    part = {
        "langevin": Langevin(),
        "hamiltonian": type(part)(friction),
        "splitting": make("SGHMCSplit", BATCHED, friction=friction).options.dynamics,
        "exact friction": make("UBU", BATCHED, friction=friction).options.dynamics,
    }[dynamics]
    kernel = SGMCMC(BATCHED, h, dynamics=part, preconditioner=Dense(jnp.asarray(factor)))
    recursion = DYNAMICS[dynamics](h, factor, friction)
    covariance = stationary_covariance(recursion, exact.hessian, exact.noise(BATCH), h)[:2, :2]
    start = around(exact.mode, np.linalg.inv(exact.hessian), CHAINS)
    (draws,) = simulate(kernel, LOCATION, chains=CHAINS, burn_in=200, draws=300, start=start)
    assert_moments(draws, exact.mode, covariance)


@pytest.mark.long
def test_plain_gradients_inflate_the_papers_posterior_sixfold():
    """Chen, Ding and Carin (2015): N = 1000, B = 10, D = 10, h = 0.001 for x_i ~ N(theta, 1)."""
    x = jax.random.normal(jax.random.key(11), (1_000, 1)) + 1.0
    data = (jnp.ones((1_000, 1, 1)), x, jnp.ones(1))
    exact = linear.posterior(*data)
    h, friction = 1e-3, 10.0
    recursion = DYNAMICS["splitting"](h, np.eye(1), friction)
    noisy = stationary_covariance(recursion, exact.hessian, exact.noise(10), h)[0, 0]
    assert 5.0 < noisy * exact.hessian[0, 0] < 7.0
    kernel = SGHMCSplit(partial(linear.model, subsample_size=10), h, friction=friction)
    start = around(exact.mode, np.linalg.inv(exact.hessian), CHAINS)
    (draws,) = simulate(kernel, data, chains=CHAINS, burn_in=2_000, draws=2_000, start=start)
    by_chain = ((np.asarray(draws, np.float64) - exact.mode) ** 2).mean(1)
    assert_averages(by_chain, np.array([noisy]))
