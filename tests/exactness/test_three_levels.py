"""Richardson-Romberg with three step sizes: joint distribution, and the order of the extrapolation.

False-failure rate 7.5e-5 a comparison, 27 comparisons; keys fixed.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import SGLD, RichardsonRomberg
from tests.exactness.setting import BATCH, additive_data, recursion, run
from tests.oracles import linear
from tests.oracles.levels import joint_covariance
from tests.oracles.monte_carlo import assert_moments
from tests.oracles.recursion import pair_covariance, stationary_covariance
from tests.registry import KERNELS

DATA = additive_data()
POSTERIOR = linear.posterior(*DATA)
WEIGHTS = np.array([1 / 3, -2.0, 8 / 3])


def test_two_levels_are_the_pair():
    for name in ("SGLD", "SGHMC", "SGHMCSplit"):
        build = recursion(KERNELS[name])
        pair = pair_covariance(build, POSTERIOR.hessian, POSTERIOR.noise(BATCH), 0.05)
        joint = joint_covariance(build, POSTERIOR.hessian, POSTERIOR.noise(BATCH), 0.05, 2)
        np.testing.assert_allclose(pair[: len(joint), : len(joint)], joint, rtol=1e-8, atol=1e-12)


@pytest.mark.long
def test_walkers_share_a_path():
    """One run at three step sizes in turn: 250 steps to forget the last one, and 250 that count."""
    steps, burn_in, length = jnp.array([0.01, 0.02, 0.03]), 250, 500
    kernel = RichardsonRomberg(SGLD(linear.model, lambda i: steps[i // length]), levels=3)
    samples = length * len(steps)
    out = run(kernel, DATA, BATCH, key=9, warmup=0, samples=samples, fields=("z_middle",))
    draws = np.concatenate([out["z_coarse"], out["z_middle"], out["z"]], -1)
    for stage, h in enumerate(np.asarray(steps, np.float64)):
        joint = joint_covariance(
            recursion(KERNELS["SGLD"]), POSTERIOR.hessian, POSTERIOR.noise(BATCH), h, 3
        )
        kept = draws[:, stage * length + burn_in : (stage + 1) * length]
        assert_moments(kept, np.tile(POSTERIOR.mode, 3), joint)


def test_order_of_the_extrapolation():
    """With minibatches: one level is of first order, two of second, three of third."""
    steps = np.array([0.0005, 0.001, 0.002])
    build, exact = recursion(KERNELS["SGLD"]), np.linalg.inv(POSTERIOR.hessian)

    def variance(h):
        noise = POSTERIOR.noise(BATCH)
        return stationary_covariance(build(h), POSTERIOR.hessian, noise, h)[0, 0]

    variances = np.array([[variance(h), variance(h / 2), variance(h / 4)] for h in steps])
    for weights, order in (([1, 0, 0], 1), ([-1, 2, 0], 2), (WEIGHTS, 3)):
        errors = np.abs(variances @ np.array(weights) - exact[0, 0])
        slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
        assert slope == pytest.approx(order, abs=0.15)


def test_levels_are_checked():
    with pytest.raises(ValueError, match=r"`levels` to be 2 .* or 3"):
        RichardsonRomberg(SGLD(linear.model, 0.1), levels=4)
