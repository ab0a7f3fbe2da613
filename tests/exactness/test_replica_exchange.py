"""Replicas: weights of two modes, swaps that keep every distribution, and the noise of energies."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import SGLD, UBU, ReplicaExchange, SGHMCSplit, cyclical
from numpyro_sgmcmc.kernels import swapping
from numpyro_sgmcmc.model import read_structure
from tests.exactness.simulate import around, simulate
from tests.marks import briefly
from tests.oracles import linear
from tests.oracles.monte_carlo import assert_averages, assert_moments
from tests.oracles.recursion import DYNAMICS, stationary_covariance

ROWS, BATCH, SCALE = 60, 10, 60.0
SHARES = np.array([0.3, 0.7])
CENTRES, WIDTH = np.array([-4.0, 4.0]), 0.7
LADDER = (1.0, 2.5, 6.0, 15.0)
CHAINS = 512


def two_modes(y, weights, batch=BATCH):
    """Two normal modes 11 standard deviations apart, and rows that say little of theta."""
    modes = dist.MixtureSameFamily(dist.Categorical(weights), dist.Normal(CENTRES, WIDTH))
    theta = numpyro.sample("theta", modes)
    with numpyro.plate("rows", y.shape[0], subsample_size=batch) as rows:
        numpyro.sample("y", dist.Normal(theta, SCALE), obs=y[rows])


@jax.tree_util.Partial
def conjugate():
    """Rows, and weights of the prior with which the posterior's are exactly 3 : 7.

    Mode k of the posterior has the prior's weight times the density of its mean under N(centre_k,
    WIDTH^2 + SCALE^2 / N); all other factors are common.
    """
    y = SCALE * np.random.default_rng(0).normal(size=ROWS)
    variance = WIDTH**2 + SCALE**2 / ROWS
    weights = SHARES * np.exp((y.mean() - CENTRES) ** 2 / (2 * variance))
    return jnp.asarray(y, jnp.float32), jnp.asarray(weights / weights.sum(), jnp.float32)


def shares_of_right(kernel, *, burn_in, draws, seed=0):
    """Return draws in either mode, one start in each by turns, (chains, draws) booleans."""
    start = np.where(np.arange(CHAINS) % 2 == 0, *CENTRES)
    fields = partial(simulate, chains=CHAINS, burn_in=burn_in, draws=draws, start=start)
    (found,) = fields(kernel, conjugate(), seed=seed)
    return np.asarray(found) > 0


H = {"SGLD": 0.05, "SGHMCSplit": 0.15, "UBU": 0.15}


def base(name, h=None):
    if name == "SGLD":
        return SGLD(two_modes, H[name] if h is None else h)
    return {"SGHMCSplit": SGHMCSplit, "UBU": UBU}[name](two_modes, H[name], friction=2.0)
