"""NumPy arrays, double precision, and missing values under a mask."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro import handlers

from numpyro_sgmcmc import SGLD, SGRRLD, SGHMCSplit, polynomial
from tests.marks import briefly
from tests.models.agreement import assert_moving_inside, assert_unbiased, run

Y = 1.0 + jax.random.normal(jax.random.key(1), (24,))


def masked(y, batch=None):
    level = numpyro.sample("level", dist.Normal(0.0, 1.0))
    rows = numpyro.plate("rows", y.size, subsample_size=batch)
    with rows as i, handlers.mask(mask=~jnp.isnan(y[i])):
        numpyro.sample("y", dist.Normal(level, 1.0), obs=y[i])


@pytest.mark.long
def test_missing_values_under_a_mask():
    spoiled = Y.at[jnp.array([3, 17])].set(jnp.nan)
    assert_unbiased(masked, spoiled, batch=4)
    for kernel in (SGLD(masked, 1e-3), SGHMCSplit(masked)):
        assert_moving_inside(run(kernel, spoiled, batch=4), masked, spoiled)


def with_deterministic(y, batch):
    level = numpyro.sample("level", dist.HalfNormal(1.0))
    numpyro.deterministic("centred", level - y.mean())
    with numpyro.plate("rows", y.size, subsample_size=batch) as i:
        numpyro.sample("y", dist.Normal(level, 1.0), obs=y[i])


@pytest.mark.parametrize("batch", briefly([4, None], [4]))
def test_numpy_arrays_give_the_draws_of_jax_arrays(batch):
    """A traced minibatch cannot index a NumPy array: they become JAX's first."""
    runs = [
        run(SGHMCSplit(with_deterministic, 0.02, friction=5.0), y, batch=batch, draws=5)
        for y in (np.asarray(Y), Y)
    ]
    draws, expected = (mcmc.get_samples() for mcmc in runs)
    assert draws.keys() == expected.keys() == {"level", "centred"}
    for name in draws:
        np.testing.assert_allclose(draws[name], expected[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "kernel",
    [
        SGLD(masked, polynomial(1e-3)),
        pytest.param(SGRRLD(masked, 1e-3), marks=pytest.mark.long),
        pytest.param(SGHMCSplit(masked), marks=pytest.mark.long),
    ],
)
def test_double_precision(kernel):
    """Every real number of the state is float64, and draws have digits that float32 lacks."""
    with jax.enable_x64(True):
        y = jnp.asarray(np.asarray(Y, np.float64))
        mcmc = run(kernel, y, batch=4, chains=2)
        draws = np.asarray(mcmc.get_samples()["level"])
        leaves = jax.tree.leaves(mcmc.last_state._replace(rng_key=None))
        real = [leaf.dtype for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating)]
    assert draws.dtype == np.float64
    assert (draws.astype(np.float32) != draws).all()
    assert set(real) == {np.dtype(np.float64)}
