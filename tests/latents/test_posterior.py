"""Runs on a Gaussian model against its exact joint posterior.

Steps are so small that their bias is a tenth of a standard error or less. False-failure rate 7.5e-5
a comparison; keys fixed.
"""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import numpyro_sgmcmc as sg
from tests.exactness.simulate import around
from tests.latents.problem import Y, gaussian, posterior
from tests.marks import briefly
from tests.oracles.monte_carlo import assert_moments

KERNELS = {
    "SGLD": lambda: sg.SGLD(gaussian, 2e-3, num_steps=60),
    "SGHMCSplit": lambda: sg.SGHMCSplit(gaussian, 0.05, friction=3.0, num_steps=30),
    "SGHMC": lambda: sg.SGHMC(gaussian, 0.02, friction=3.0, num_steps=40),
}
CHAINS = 500


@pytest.mark.parametrize(
    ("name", "batch"),
    briefly(list(product(KERNELS, (1, 5))), [], [("SGHMCSplit", 5), ("SGLD", 1)]),
)
def test_joint_posterior(name, batch):
    exact, kernel, y = posterior(), KERNELS[name](), jnp.asarray(Y, jnp.float32)
    args = (y, batch)
    start = around(exact.mean[:1], exact.covariance[:1, :1], CHAINS)
    keys = jax.random.split(jax.random.key(0), CHAINS)
    state = kernel.init(keys, 0, {"theta": jnp.asarray(start, jnp.float32)}, args, {})

    @jax.jit
    def run(state):
        def collect(state, _):
            state = kernel.sample(state, args, {})
            latents = state.gradient.values[..., 0]
            return state, jnp.concatenate([state.z["theta"], latents], axis=1)

        return jax.lax.scan(collect, state, None, length=60)[1]

    draws = np.swapaxes(np.asarray(run(state)), 0, 1)[:, 20:]
    assert_moments(draws, exact.mean, exact.covariance)
