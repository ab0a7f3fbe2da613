"""Searches and warm-ups that start far away, and parameters on very different scales."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGHMCSplit, UniformMinibatch
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preparation import Target
from numpyro_sgmcmc.preparation.approximation import is_sound, laplace
from numpyro_sgmcmc.preparation.axes import principal_axes
from numpyro_sgmcmc.preparation.mode_search import find_mode

ROWS = 400
SCALES = np.array([1e-4, 1e-2, 1.0, 1e2, 1e4])


def model(features, response):
    level = numpyro.sample("level", dist.Normal(0, 1e6))
    slopes = numpyro.sample("slopes", dist.Normal(0, 1e5).expand([len(SCALES)]).to_event(1))
    noise = numpyro.sample("noise", dist.HalfNormal(2.0))
    with numpyro.plate("rows", ROWS, subsample_size=100) as i:
        numpyro.sample("y", dist.Normal(level + features[i] @ slopes, noise), obs=response[i])


def data(level):
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(ROWS, len(SCALES)))
    response = level + columns.sum(1) + rng.normal(size=ROWS)
    return tuple(jnp.asarray(x, jnp.float32) for x in (columns * SCALES, response))


@pytest.mark.parametrize("level", [0.0, 3_000.0])
def test_columns_on_scales_that_differ_by_eight_orders_of_magnitude(level):
    args = data(level)
    target = Target(read_structure(model, args, {}), UniformMinibatch(), args, {})
    mode = find_mode(target, jax.random.key(0), jnp.zeros(2 + len(SCALES)))
    assert is_sound(target, mode, jax.random.key(1))
    found = target.structure.unravel(mode.position)
    design = np.column_stack([np.ones(ROWS), np.asarray(args[0], float)])
    exact = np.linalg.lstsq(design, np.asarray(args[1], float), rcond=None)[0]
    residual = np.asarray(args[1], float) - design @ exact
    sd = residual.std() * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
    off = np.concatenate([[found["level"]], found["slopes"]]) - exact
    # The priors are flat at this scale; the search ends within 0.01 standard deviations.
    assert np.all(np.abs(off) < 0.05 * sd)
    spread = laplace(mode).spread.factor
    widths = target.structure.unravel(jnp.linalg.norm(spread, axis=1))
    np.testing.assert_allclose(np.concatenate([[widths["level"]], widths["slopes"]]), sd, rtol=0.02)


def test_a_newton_step_goes_downhill_at_a_saddle():
    """At a scale much larger than residuals allow, level and noise make a saddle."""
    hessian = jnp.array([[2.0, 3.0], [3.0, 1.0]])
    axes = principal_axes(hessian)
    assert float(axes.curvatures[0]) < 0
    root = np.asarray(axes.root(jnp.abs(axes.curvatures)))
    gradient = np.random.default_rng(0).normal(size=(20, 2))
    assert np.all(np.sum(gradient * (gradient @ root @ root.T), axis=1) > 0)


def test_roots_invert_the_hessian_whatever_its_units():
    rng = np.random.default_rng(0)
    unit = 10.0 ** np.arange(-6, 6, 2.0)
    base = rng.normal(size=(6, 20))
    hessian = unit[:, None] * (base @ base.T / 20) * unit
    axes = principal_axes(jnp.asarray(hessian, jnp.float32))
    root = np.asarray(axes.root(axes.curvatures), np.float64) * unit[:, None]
    expected = np.linalg.inv(base @ base.T / 20)
    # Rounding errors of single precision, times the condition number of about 10.
    np.testing.assert_allclose(root @ root.T, expected, atol=1e-4 * np.abs(expected).max())


@pytest.mark.long
def test_a_posterior_between_neighbouring_numbers_is_refused():
    """Near 1e6 single-precision numbers are 0.06 apart; the standard deviation is 0.05."""
    mcmc = MCMC(SGHMCSplit(model), num_warmup=100, num_samples=10, progress_bar=False)
    with pytest.raises(ValueError, match=r"site 'level', which is near 1e\+06.*enable_x64"):
        mcmc.run(jax.random.key(0), *data(1e6))


def underflowing(y):
    """The logarithm of a number near the smallest one: its derivatives overflow."""
    a = numpyro.sample("a", dist.Normal(0, 1))
    b = numpyro.sample("b", dist.Normal(0, 1))
    numpyro.factor("tail", jnp.log(jnp.exp(-50 * (1 + b * b))) / 50)
    with numpyro.plate("rows", len(y), subsample_size=20) as i:
        numpyro.sample("y", dist.Normal(a, 1), obs=y[i])


def test_derivatives_that_are_not_finite_around_the_mode_are_refused():
    y = np.random.default_rng(0).normal(size=400)
    kernel = SGHMCSplit(underflowing)
    with pytest.raises(ValueError, match=r"finite for 'b' at \d+ of 16 points\. Write the model"):
        kernel.init(jax.random.key(0), 100, None, (jnp.asarray(y),), {})
