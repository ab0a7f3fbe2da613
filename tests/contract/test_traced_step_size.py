"""A step size that JAX traces: kernels can be made inside `jit` and `vmap`, as NumPyro's can."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGLD, SGLDFP, SGRRLD, SGHMCSplit
from tests.contract.problem import ANCHOR, data, model
from tests.marks import rarely

KERNELS = {
    "SGLD": SGLD,
    "SGLDFP": lambda model, h: SGLDFP(model, h, anchor=ANCHOR),
    "SGHMCSplit": SGHMCSplit,
    "SGRRLD": SGRRLD,
}


DATA = data()


def run(build, step_size):
    mcmc = MCMC(build(model, step_size), num_warmup=2, num_samples=5, progress_bar=False)
    mcmc.run(jax.random.key(0), *DATA)
    return mcmc.get_samples()["w"]


@pytest.mark.long
@pytest.mark.parametrize("name", rarely(KERNELS, ["SGLD", "SGHMCSplit", "SGRRLD"]))
def test_draws_are_those_of_the_number(name):
    build = KERNELS[name]
    found = jax.jit(lambda h: run(build, h))(1e-3)
    # Another program rounds differently; five steps amplify that little.
    np.testing.assert_allclose(found, run(build, 1e-3), rtol=1e-4, atol=1e-5)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:Some donated buffers were not usable")  # NumPyro's loop
def test_step_sizes_are_mapped_over():
    found = jax.vmap(lambda h: run(SGLD, h))(jnp.array([1e-3, 2e-3]))
    np.testing.assert_allclose(found[1], run(SGLD, 2e-3), rtol=1e-4, atol=1e-5)
