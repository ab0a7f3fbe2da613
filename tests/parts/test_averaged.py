"""Correlations of a mean-field fit, from the curvature averaged over its draws."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import UniformMinibatch
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preconditioner import Dense, Diagonal
from numpyro_sgmcmc.preparation import Target, averaged
from numpyro_sgmcmc.preparation.approximation import Approximation
from numpyro_sgmcmc.preparation.averaged import with_correlations

DIMENSION, ROWS = 30, 600
KEY = jax.random.key(4)


def target_of(model, *args):
    return Target(read_structure(model, args, {}), UniformMinibatch(), args, {})


def fit_of(precision, centre=0.0):
    """Return the mean-field fit of a Gaussian: its conditional standard deviations."""
    scale = jnp.asarray(np.diag(precision) ** -0.5, jnp.float32)
    return Approximation(jnp.full(len(precision), centre, jnp.float32), Diagonal(scale))


def covariance(found):
    return np.asarray(found.spread.factor, np.float64) @ np.asarray(found.spread.factor).T


def regression(x):
    z = numpyro.sample("z", dist.Normal(0, 1).expand([DIMENSION]).to_event(1))
    with numpyro.plate("rows", len(x), subsample_size=20) as i:
        numpyro.sample("y", dist.Normal(x[i] @ z, 1.0), obs=jnp.zeros(i.shape))


def test_a_gaussian_gets_its_covariance(monkeypatch):
    """Columns with correlations of 0.9 between neighbours; exact where all rows are used."""
    rng = np.random.default_rng(0)
    x = np.empty((ROWS, DIMENSION))
    x[:, 0] = rng.normal(size=ROWS)
    for k in range(1, DIMENSION):
        x[:, k] = 0.9 * x[:, k - 1] + 0.19**0.5 * rng.normal(size=ROWS)
    precision = x.T @ x + np.eye(DIMENSION)
    scale = np.diag(precision) ** -0.5
    target = target_of(regression, jnp.asarray(x, jnp.float32))
    before = np.linalg.eigvalsh(scale[:, None] * precision * scale)
    assert before[-1] > 100 * before[0]

    def spectrum(found):
        root = np.asarray(found.spread.factor, np.float64)
        return np.linalg.eigvalsh(root.T @ precision @ root)

    exact = with_correlations(target, KEY, fit_of(precision))
    np.testing.assert_allclose(spectrum(exact), 1, rtol=1e-3)  # float32: condition number 400
    monkeypatch.setattr(averaged, "AVERAGED_ROWS", ROWS // 2)
    some = spectrum(with_correlations(target, KEY, fit_of(precision)))
    # Sampling of 8 x 300 rows moves eigenvalues by about (d / 2,400)^1/2 = 0.11, and the caution
    # about small curvatures by two standard errors of the average, of 0.03 or more each.
    assert 0.5 < some.min() < some.max() < 2


def absolute(x):
    z = numpyro.sample("z", dist.Normal(0, 10).expand([x.shape[1]]).to_event(1))
    with numpyro.plate("rows", len(x), subsample_size=20) as i:
        numpyro.sample("y", dist.Laplace(x[i] @ z, 1.0), obs=errors()[i])


def errors():
    return jnp.asarray(np.random.default_rng(3).laplace(size=4 * ROWS), jnp.float32)


def test_kinks_get_the_covariance_of_secants():
    """Second derivatives are those of the prior alone, and would widen the fit 250 times.

    The law of a median's regression is nearly N(z, (X' X)^-1) for errors of scale 1, because their
    density is 1 / 2 at 0. Secants over one standard deviation see it as they see the kinks of some
    30 rows, with an error of a fifth for each draw; 8 draws of 4 coordinates leave eigenvalues
    within a factor of 2, which is 5 standard errors.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4 * ROWS, 4))
    x[:, 1] = 0.9 * x[:, 0] + 0.19**0.5 * x[:, 1]
    precision = x.T @ x + np.eye(4) / 100
    target = target_of(absolute, jnp.asarray(x, jnp.float32))
    found = with_correlations(target, KEY, fit_of(precision))
    root = np.asarray(found.spread.factor, np.float64)
    ratios = np.linalg.eigvalsh(root.T @ precision @ root)
    assert 0.5 < ratios.min() < ratios.max() < 2


def funnel():
    spread = numpyro.sample("a", dist.Normal(0, 3))
    numpyro.sample("x", dist.Normal(0, jnp.exp(spread)).expand([5]).to_event(1))


def pair(correlation):
    def model():
        matrix = jnp.array([[1.0, correlation], [correlation, 1.0]])
        numpyro.sample("z", dist.MultivariateNormal(jnp.zeros(2), precision_matrix=matrix))

    return model


def saddle():
    z = numpyro.sample("z", dist.Normal(0, 1).expand([2]).to_event(1))
    numpyro.factor("coupling", 2.0 * z[0] * z[1])


def test_a_pair():
    found = with_correlations(target_of(pair(0.8)), KEY, fit_of(np.eye(2)))
    inverse = np.linalg.inv([[1, 0.8], [0.8, 1]])
    np.testing.assert_allclose(covariance(found), inverse, rtol=1e-5)


def test_a_direction_of_negative_curvature_keeps_its_scale():
    """Curvatures are 3 and -1."""
    found = with_correlations(target_of(saddle), KEY, fit_of(np.eye(2)))
    np.testing.assert_allclose(np.linalg.eigvalsh(covariance(found)), [1 / 3, 1], rtol=1e-5)


def product():
    """The curvatures along x and z vary a little with each other, and x depends on w."""
    x, z = (numpyro.sample(name, dist.Normal(0, 1)) for name in "xz")
    w = numpyro.sample("w", dist.Normal(0, 1))
    numpyro.factor("coupling", -0.02 * (x * z) ** 2 - 0.9 * w * x)


def test_a_small_curvature_counts_with_caution():
    """Along x = -w it is 0.1 and what varies."""
    fit = fit_of(np.eye(3))
    target = target_of(product)
    hessians = np.asarray(target.run(averaged._curvatures, fit, KEY), np.float64)
    variances, axes = np.linalg.eigh(covariance(with_correlations(target, KEY, fit)))
    along = np.einsum("ia,kij,ja->ka", axes, hessians, axes)
    average, error = along.mean(0), along.std(0, ddof=1) / len(along) ** 0.5
    assert average[-1] < 0.5  # the widest direction
    assert 1 / variances[-1] == pytest.approx(average[-1] + 2 * error[-1], rel=1e-3)
    assert np.all(1 / variances > average - 1e-3)


def test_a_scale_of_varying_curvature_stands_alone():
    """The curvatures of a funnel are proportional to e^-2a, where e^a is the scale."""
    fit = fit_of(np.eye(6))
    found = covariance(with_correlations(target_of(funnel), KEY, fit))
    np.testing.assert_allclose(found[0, 1:], 0, atol=1e-6)
    assert found[0, 0] == pytest.approx(1)


def test_a_fit_of_many_dimensions_stays_as_it_is(monkeypatch):
    monkeypatch.setattr(averaged, "DENSE_COVARIANCE", 1)
    fit = fit_of(np.eye(2))
    assert with_correlations(target_of(pair(0.8)), KEY, fit) is fit


def infinite():
    z = numpyro.sample("z", dist.Normal(0, 1).expand([2]).to_event(1))
    numpyro.factor("root", jnp.sqrt(z[0]))


def test_curvatures_that_are_not_finite_change_nothing():
    fit = fit_of(np.eye(2))
    assert with_correlations(target_of(infinite), KEY, fit) is fit


@pytest.mark.parametrize("dimension", [350])
def test_many_effects_start_with_their_covariance(dimension):
    """Of a pair of plates whose sum is known and whose difference is not."""
    half = dimension // 2

    def model(y):
        with numpyro.plate("groups", half):
            a = numpyro.sample("a", dist.Normal(0, 1))
            b = numpyro.sample("b", dist.StudentT(5, 0, 1))
            numpyro.sample("y", dist.Normal(a + b, 0.1), obs=y)

    fit = Approximation(jnp.zeros(dimension), Diagonal(jnp.full(dimension, 0.1)))
    found = with_correlations(target_of(model, jnp.zeros(half)), KEY, fit)
    assert isinstance(found.spread, Dense)
    values, axes = np.linalg.eigh(covariance(found))
    wide = axes[:, values > 0.1]
    assert wide.shape[1] == half
    np.testing.assert_allclose(np.abs(wide[:half]), np.abs(wide[half:]), atol=0.15)
