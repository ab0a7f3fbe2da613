"""A likelihood that is itself random gets a fresh key at each evaluation."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import SGLD, SGLDFP, SGHMCSplit
from numpyro_sgmcmc.model import read_structure, stochastic_potential
from numpyro_sgmcmc.types import Minibatch
from tests.models.agreement import run

Y = 1.0 + jax.random.normal(jax.random.key(1), (24,))


def model(y, batch=None):
    level = numpyro.sample("level", dist.Normal(0.0, 1.0))
    jitter = 0.5 * jax.random.normal(numpyro.prng_key(), (4,))
    with numpyro.plate("rows", y.shape[0], subsample_size=batch) as i:
        numpyro.sample("y", dist.Normal(level + jitter.mean(), 1.0), obs=y[i])


def test_fresh_keys_give_fresh_densities():
    structure = read_structure(model, (Y,), {"batch": 4})
    assert structure.is_random
    potential = jax.jit(stochastic_potential(structure, (Y,), {"batch": 4}))
    rows = {"rows": jnp.arange(4)}
    at = lambda seed: potential(jnp.zeros(1), Minibatch(rows, jax.random.key(seed)))  # noqa: E731
    assert at(0) == at(0) != at(1)


@pytest.mark.parametrize(
    "kernel", [SGLD(model, 1e-3), pytest.param(SGHMCSplit(model), marks=pytest.mark.long)]
)
def test_chains_see_the_randomness(kernel):
    # Without subsampling all that varies at a fixed position is the density's own noise.
    mcmc = run(kernel, Y)
    assert not mcmc.get_extra_fields()["diverging"].any()
    draws = np.asarray(mcmc.get_samples()["level"])
    energy = np.asarray(mcmc.get_extra_fields()["potential_energy"])
    exact = 0.5 * draws[:-1] ** 2 + 0.5 * ((np.asarray(Y) - draws[:-1, None]) ** 2).sum(1)
    assert np.std(energy[1:] - exact) > 0.5
    assert np.unique(energy).size == energy.size


def test_fixed_points_are_refused():
    with pytest.raises(ValueError, match=r"deterministic density .* Use gradient=Plain\(\)"):
        run(SGLDFP(model, 1e-3), Y, batch=4)
