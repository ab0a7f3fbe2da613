"""Large data that become constants of NumPyro's program: a warning with a remedy that works."""

import os
import subprocess
import sys
import warnings

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGLD
from numpyro_sgmcmc.kernels import constants

REMEDY = "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"
ROWS = 2_000


def model(y):
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    with numpyro.plate("rows", len(y), subsample_size=10) as rows:
        numpyro.sample("y", dist.Normal(theta, 1.0), obs=y[rows])


def run(**options):
    mcmc = MCMC(SGLD(model, 1e-5), num_warmup=0, num_samples=5, **options)
    mcmc.run(jax.random.key(0), jnp.ones(ROWS))


@pytest.mark.skipif(constants.constants_are_inputs(), reason="JAX makes inputs of them by itself")
@pytest.mark.parametrize("options", [{}, {"progress_bar": False}])
def test_a_warning_names_the_remedy(monkeypatch, options):
    monkeypatch.setattr(constants, "LARGE", 4 * ROWS)
    with pytest.warns(UserWarning, match=f"of data become constants.*{REMEDY}=1.*jit_model_args"):
        run(**options)


def test_no_warning_for_small_data_nor_where_data_are_inputs(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(progress_bar=False)
        monkeypatch.setattr(constants, "LARGE", 4 * ROWS)
        run(progress_bar=False, jit_model_args=True)


CHILD = """
import warnings, logging
warnings.simplefilter("error")
import jax
from tests.contract.test_constants import ROWS, constants, run
assert constants.constants_are_inputs()
constants.LARGE = 4 * ROWS
run(progress_bar=False)
run()
"""


@pytest.mark.long
def test_the_remedy_works():
    environment = os.environ | {REMEDY: "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CHILD],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
