"""SVRGLD and SAGALD against their exact distributions, with rows of different curvature.

False-failure rate 7.5e-5 a comparison, five comparisons a test; keys fixed.
"""

from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import SAGALD, SVRGLD, UniformMinibatch
from tests.exactness.simulate import around, simulate
from tests.marks import briefly
from tests.oracles import linear
from tests.oracles.enumeration import rows_of
from tests.oracles.monte_carlo import assert_moments
from tests.oracles.recursion import DYNAMICS, stationary_covariance
from tests.oracles.variance_reduction import saga, svrg

BATCH = 2
DESIGN = np.array([[0.8, 0.2], [-0.3, 0.9], [1.2, 0.5], [0.1, -0.7]])[:, None]
DATA = (DESIGN, np.array([[-1.0], [0.3], [1.2], [2.0]]), np.ones(1))
POSTERIOR = linear.posterior(*DATA)
ROWS = rows_of(POSTERIOR)
MODEL = partial(linear.model, subsample_size=BATCH)


def run(kernel):
    start = around(POSTERIOR.mode, np.linalg.inv(POSTERIOR.hessian), 2_000)
    arrays = [jnp.asarray(x, jnp.float32) for x in DATA]
    (draws,) = simulate(kernel, arrays, chains=2_000, burn_in=240, draws=240, start=start)
    return np.asarray(draws)


def langevin(noise, h):
    return stationary_covariance(
        DYNAMICS["langevin"](h, np.eye(2), 0.0), POSTERIOR.hessian, noise, h
    )


def test_svrg_oracle_in_its_limits():
    h = 0.12
    exact = langevin(POSTERIOR.noise(None), h)
    np.testing.assert_allclose(svrg(ROWS, BATCH, h, period=1), exact, atol=1e-12)
    traces = [np.trace(svrg(ROWS, BATCH, h, period=m)) for m in (1, 2, 8, 400)]
    assert (np.diff(traces) > 0).all()


@pytest.mark.parametrize(
    ("h", "period", "replace"),
    briefly(
        [(0.04, 8, True), (0.08, 2, False), (0.12, 2, True), (0.12, 8, False)],
        [(0.08, 2, False)],
    ),
)
def test_svrgld(h, period, replace):
    kernel = SVRGLD(MODEL, h, period=period, minibatch=UniformMinibatch(replace=replace))
    assert_moments(run(kernel), POSTERIOR.mode, svrg(ROWS, BATCH, h, period, replace))


@pytest.mark.long
@pytest.mark.parametrize(("h", "replace"), [(0.04, True), (0.08, False), (0.12, True)])
def test_sagald(h, replace):
    kernel = SAGALD(MODEL, h, minibatch=UniformMinibatch(replace=replace))
    assert_moments(run(kernel), POSTERIOR.mode, saga(ROWS, BATCH, h, replace))


def test_the_distributions_differ_by_more_than_the_tests_resolve():
    h = 0.12
    covariances = [langevin(POSTERIOR.noise(BATCH), h), saga(ROWS, BATCH, h)]
    covariances += [svrg(ROWS, BATCH, h, m) for m in (1, 2, 8)]
    traces = np.sort([np.trace(one) for one in covariances])
    assert (np.diff(traces) > 0.005 * traces[:-1]).all()
