"""Distributions beyond positions at T = 1: momentum, temperature, thinning, noise that varies.

All runs use `MCMC`. There are 14 comparisons for a run, 27 for the pair, 97 in all. Each fails
falsely with P(|t| > 4) = 7.5e-5 for 400 chains, the whole file with 0.7 % under a new key.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import Dense, UniformMinibatch
from tests.exactness.setting import (
    BATCH,
    FACTOR,
    FRICTION,
    additive_data,
    recursion,
    run,
    varying_data,
)
from tests.marks import briefly
from tests.oracles import linear
from tests.oracles.monte_carlo import assert_moments
from tests.oracles.recursion import pair_covariance, stationary_covariance
from tests.registry import KERNELS, make

DATA = additive_data()
POSTERIOR = linear.posterior(*DATA)
PRECONDITIONER = Dense(jnp.asarray(FACTOR, jnp.float32))


@pytest.mark.parametrize("name", ["SGHMC", "SGHMCSplit"])
def test_position_and_momentum_at_a_temperature_under_a_preconditioner(name):
    h, temperature = 0.15, 0.3
    options = {"temperature": temperature, "preconditioner": PRECONDITIONER}
    kernel = make(name, linear.model, h, friction=FRICTION, **options)
    out = run(kernel, DATA, BATCH, key=3, fields=("aux",))
    covariance = stationary_covariance(
        recursion(KERNELS[name], FACTOR)(h),
        POSTERIOR.hessian,
        POSTERIOR.noise(BATCH),
        h,
        temperature,
    )
    draws = np.concatenate([out["z"], out["aux"]], -1)
    assert_moments(draws, np.append(POSTERIOR.mode, [0.0, 0.0]), covariance)


@pytest.mark.long
def test_pair_at_a_temperature_under_a_preconditioner():
    name, h, temperature = "RichardsonRomberg(SGHMCSplit)", 0.2, 0.3
    options = {"temperature": temperature, "preconditioner": PRECONDITIONER}
    kernel = make(name, linear.model, h, friction=FRICTION, **options)
    out = run(kernel, DATA, BATCH, key=4)
    draws = np.concatenate([out["z_coarse"], out["z"], out["z_halfway"]], -1)
    joint = pair_covariance(
        recursion(KERNELS[name], FACTOR),
        POSTERIOR.hessian,
        POSTERIOR.noise(BATCH),
        h,
        temperature,
    )
    positions = [0, 1, 4, 5, 8, 9]
    assert_moments(draws, np.tile(POSTERIOR.mode, 3), joint[np.ix_(positions, positions)])


@pytest.mark.long
def test_num_steps_is_thinning():
    # Draws one iteration of three transitions apart have covariance A^3 M.
    h = 0.01
    kernel = make("SGLD", linear.model, h, num_steps=3)
    out = run(kernel, DATA, BATCH, key=7)["z"] - POSTERIOR.mode
    step = recursion(KERNELS["SGLD"])(h)
    covariance = stationary_covariance(step, POSTERIOR.hessian, POSTERIOR.noise(BATCH), h)
    lagged = np.linalg.matrix_power(step.transition(POSTERIOR.hessian), 3) @ covariance
    joint = np.block([[covariance, lagged.T], [lagged, covariance]])
    assert_moments(np.concatenate([out[:, :-1], out[:, 1:]], -1), np.zeros(4), joint)


@pytest.mark.parametrize("replace", briefly([True, False], [True]), ids=["with", "without"])
@pytest.mark.filterwarnings("ignore:The gradient does not vanish:UserWarning")
def test_splitting_with_a_fixed_point_far_off_the_mode(replace):
    data, batch, h = varying_data(), 3, 0.08
    exact = linear.posterior(*data)
    anchor = exact.mode + np.array([1.0, -0.8])
    kernel = make(
        "SGHMCSplit(FixedPoint)",
        linear.model,
        h,
        friction=FRICTION,
        anchor={"theta": anchor},
        minibatch=UniformMinibatch(replace=replace),
    )
    out = run(kernel, data, batch, key=11 + replace, fields=("aux",))
    noise = exact.noise(batch, replace=replace, anchor=anchor)
    assert not noise.is_additive
    step = recursion(KERNELS["SGHMCSplit(FixedPoint)"])(h)
    covariance = stationary_covariance(step, exact.hessian, noise, h)
    draws = np.concatenate([out["z"], out["aux"]], -1)
    assert_moments(draws, np.append(exact.mode, [0.0, 0.0]), covariance)
