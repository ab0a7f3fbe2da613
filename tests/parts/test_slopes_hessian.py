"""The Hessian of a regression with slopes by groups, which jaxlib 0.10.2 compiled wrongly."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc.minibatch import UniformMinibatch
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preparation import Target, View
from numpyro_sgmcmc.preparation import second_order as of_newton

ROWS, BATCH = 4_000, 100


def model(x, group, y, groups):
    with numpyro.plate("groups", groups):
        b = numpyro.sample("b", dist.Normal(0, 1).expand([x.shape[1]]).to_event(1))
    with numpyro.plate("rows", len(y), subsample_size=BATCH) as rows:
        mean = jnp.sum(x[rows] * b[group[rows]], axis=-1)
        numpyro.sample("y", dist.Normal(mean, 1), obs=y[rows])


@pytest.mark.parametrize(("groups", "columns"), [(80, 3), (40, 2), (30, 5)])
def test_it_is_the_sum_over_rows(groups, columns):
    """To rounding in single precision, of sums of up to 150 squares."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((ROWS, columns)), rng.standard_normal(ROWS)
    group = rng.integers(0, groups, ROWS)
    args = jnp.float32(x), jnp.asarray(group), jnp.float32(y), groups
    target = Target(read_structure(model, args, {}), UniformMinibatch(), args, {})
    design = np.zeros((ROWS, groups, columns))
    design[np.arange(ROWS), group] = x
    flat = design.reshape(ROWS, -1)
    expected = flat.T @ flat + np.eye(groups * columns)
    position = jnp.float32(rng.standard_normal(groups * columns))
    slope = flat.T @ (flat @ np.asarray(position, np.float64) - y) + np.asarray(position)
    for found in (of_newton(target, position), target.run(View.second_order, position)):
        np.testing.assert_allclose(found[2], expected, rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(found[1], slope, rtol=1e-4, atol=5e-3)
