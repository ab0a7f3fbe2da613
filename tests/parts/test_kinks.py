"""Densities whose Hessian says nothing of their width, and densities without an integral."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import SGHMCSplit
from numpyro_sgmcmc.preconditioner import Diagonal, Identity
from numpyro_sgmcmc.preparation import Approximation
from numpyro_sgmcmc.preparation.kinks import typical_curvature
from numpyro_sgmcmc.preparation.learning import updated
from numpyro_sgmcmc.preparation.mean_field import mean_field
from numpyro_sgmcmc.preparation.measure import curvatures
from numpyro_sgmcmc.preparation.windows import Seen
from tests.parts.test_warmup import target_of

REAL = dist.constraints.real
KEY = jax.random.key(0)


def density(distribution):
    def model():
        numpyro.sample("z", distribution)

    return model


def plateau():
    z = numpyro.sample("z", dist.ImproperUniform(REAL, (), ()))
    numpyro.factor("walls", -5 * jnp.maximum(jnp.abs(z) - 1, 0))


def slope():
    numpyro.factor("slope", -numpyro.sample("z", dist.ImproperUniform(REAL, (), ())))


def half_flat():
    numpyro.sample("a", dist.Normal(0.0, 1.0))
    numpyro.sample("b", dist.ImproperUniform(REAL, (), ()))


def test_curvature_of_kinks_is_that_of_secants():
    """Laplace with scale 1 in coordinates of scale sqrt(2): exactly 2 in the mean of many."""
    width = 4_000
    target = target_of(density(dist.Laplace(0.0, 1.0).expand([width]).to_event(1)))
    points = jax.random.laplace(KEY, (1, width))
    linear = Diagonal(jnp.full(width, np.sqrt(2.0)))
    found = typical_curvature(target, linear, points, KEY)
    # The secant of a coordinate is 2 / (2 step) with the chance of a kink within it, else 0, for
    # steps of 1 / sqrt(d) standard deviations: binomial, five standard errors (6e-7).
    step = 1 / np.sqrt(width)
    chance = -np.expm1(-np.sqrt(2.0) * step)
    expected = np.sqrt(2.0) * chance / step
    error = np.sqrt(2.0) / step * np.sqrt(chance * (1 - chance) / width)
    assert abs(float(found.mean) - expected) < 5 * error
    assert float(found.largest) >= float(found.mean)


def test_curvature_of_a_smooth_density_is_its_hessian():
    target = target_of(density(dist.Normal(0.0, 0.5).expand([3]).to_event(1)))
    points = 0.5 * jax.random.normal(KEY, (4, 3))
    found = typical_curvature(target, Identity(), points, KEY)
    alone = target.run(curvatures, Identity(), points[0], KEY)
    np.testing.assert_allclose(found[:2], alone, rtol=1e-5)
    np.testing.assert_allclose(found.variation, 0.0, atol=1e-5)
    np.testing.assert_allclose(found[:2], 4.0, rtol=1e-5)


def test_a_plateau_has_the_curvature_of_the_coordinates():
    target = target_of(plateau)
    found = typical_curvature(target, Diagonal(jnp.full(1, 0.1)), jnp.zeros((4, 1)), KEY)
    assert (found.largest, found.mean) == (1.0, 1.0)


@pytest.mark.parametrize("dense", [True, False])
def test_walkers_that_never_moved_leave_the_approximation_as_it_was(dense):
    before = Approximation(jnp.ones(2), Diagonal(jnp.array([2.0, 3.0])))
    second = jnp.zeros((2, 2) if dense else 2)
    stuck = Seen(jnp.zeros((8, 2)), second, *(None,) * 3, length=jnp.asarray(10))
    assert updated(before, stuck, 1.0) is before


@pytest.mark.parametrize(
    ("model", "site"),
    [
        pytest.param(density(dist.ImproperUniform(REAL, (3,), ())), "z", marks=pytest.mark.long),
        pytest.param(
            density(dist.ImproperUniform(dist.constraints.positive, (), ())),
            "z",
            marks=pytest.mark.long,
        ),
        pytest.param(slope, "z", marks=pytest.mark.release),
        pytest.param(half_flat, "b", marks=pytest.mark.long),
    ],
    ids=["flat", "flat on a half-line", "slope", "one site"],
)
def test_an_improper_density_is_refused_with_its_site(model, site):
    with pytest.raises(ValueError, match=f"finite integral; got .* along site '{site}'"):
        SGHMCSplit(model).init(KEY, 100, None, (), {})


@pytest.mark.parametrize(
    "distribution",
    [dist.Cauchy(0.0, 1e5), dist.Normal(0.0, 1e7), dist.Laplace(0.0, 1e4), dist.Normal(1e3, 1.0)],
    ids=["Cauchy", "vague normal", "vague Laplace", "far away"],
)
def test_a_proper_density_is_not_refused_however_vague(distribution):
    target = target_of(density(distribution))
    assert np.isfinite(mean_field(target, KEY, jnp.zeros(1)).approximation.centre).all()


def test_the_variation_of_a_skewed_trace():
    """tr H = 1 + 12 z^2 at draws of N(0, 1): outer percentiles show 0.83 standard deviations.

    Quartiles would show 0.64. The tolerance is 3 standard errors of the upper percentile of 4,096
    draws; false failures: 3e-3, with a fixed key.
    """

    def quartic():
        numpyro.factor("quartic", -(numpyro.sample("z", dist.Normal(0, 1)) ** 4))

    points = jax.random.normal(KEY, (4_096, 1))
    found = typical_curvature(target_of(quartic), Identity(), points, KEY)
    exact = 12 * np.sqrt(2.0)
    outer = 12 * (3.841 - 0.0039) / 3.29
    error = 12 * np.sqrt(0.95 * 0.05 / 4_096) / 0.0298 / 3.29  # The density of z^2 at 3.841.
    assert abs(float(found.variation) - outer) < 3 * error
    assert outer > 0.8 * exact
