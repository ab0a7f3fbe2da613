"""SVRGLD and SAGALD against their exact laws, with rows of different curvature.

False-failure rate 7.5e-5 a comparison, two comparisons a test; keys fixed.
"""

from functools import partial

import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import SAGALD, SVRGLD, UniformMinibatch
from tests.exactness.simulate import around, simulate
from tests.exactness.test_epochs import VARIED
from tests.oracles import linear
from tests.oracles.enumeration import rows_of
from tests.oracles.monte_carlo import assert_moments
from tests.oracles.recursion import DYNAMICS, stationary_covariance
from tests.oracles.variance_reduction import saga, svrg

H, BATCH = 0.12, 2
POSTERIOR = linear.posterior(*VARIED)
MODEL = partial(linear.model, subsample_size=BATCH)


def run(kernel):
    start = around(POSTERIOR.mode, np.linalg.inv(POSTERIOR.hessian), 2_000)
    arrays = [jnp.asarray(x, jnp.float32) for x in VARIED]
    (draws,) = simulate(kernel, arrays, chains=2_000, burn_in=240, draws=240, start=start)
    return np.asarray(draws)


def test_svrg_oracle_in_its_limits():
    langevin = partial(stationary_covariance, DYNAMICS["langevin"](H, np.eye(1), 0.0))
    exact = langevin(POSTERIOR.hessian, POSTERIOR.noise(None), H)[0, 0]
    rows = rows_of(POSTERIOR)
    np.testing.assert_allclose(svrg(rows, BATCH, H, period=1), exact)
    assert svrg(rows, BATCH, H, period=4) > exact
    # An anchor that never moves has the law of a fixed point; the walker's own start is spread
    # around the mode, so in the limit the noise is a fixed point's averaged over anchors.
    assert svrg(rows, BATCH, H, period=400) > svrg(rows, BATCH, H, period=4)


@pytest.mark.parametrize("period", [2, 8])
@pytest.mark.parametrize("replace", [True, False], ids=["with", "without"])
def test_svrgld(period, replace):
    exact = svrg(rows_of(POSTERIOR), BATCH, H, period, replace)
    kernel = SVRGLD(MODEL, H, period=period, minibatch=UniformMinibatch(replace=replace))
    assert_moments(run(kernel), POSTERIOR.mode, np.array([[exact]]))


@pytest.mark.parametrize("replace", [True, False], ids=["with", "without"])
def test_sagald(replace):
    exact = saga(rows_of(POSTERIOR), BATCH, H, replace)
    kernel = SAGALD(MODEL, H, minibatch=UniformMinibatch(replace=replace))
    assert_moments(run(kernel), POSTERIOR.mode, np.array([[exact]]))


def test_the_laws_differ_by_more_than_the_tests_resolve():
    rows = rows_of(POSTERIOR)
    plain = stationary_covariance(
        DYNAMICS["langevin"](H, np.eye(1), 0.0), POSTERIOR.hessian, POSTERIOR.noise(BATCH), H
    )[0, 0]
    laws = [plain, saga(rows, BATCH, H), *(svrg(rows, BATCH, H, m) for m in (1, 2, 8))]
    assert (np.abs(np.diff(np.sort(laws))) > 0.005 * plain).all()
