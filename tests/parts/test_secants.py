"""Modes of densities whose Hessian misses their kinks, against sums over a grid."""

from typing import final

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc.preparation import row_sums, secants
from numpyro_sgmcmc.preparation.approximation import is_sound, laplace
from numpyro_sgmcmc.preparation.mode_search import find_mode
from numpyro_sgmcmc.preparation.passes import AbstractPasses
from numpyro_sgmcmc.preparation.secants import with_secants
from tests.parts.test_warmup import target_of

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)
ROWS = 3_000
X = jnp.asarray(RNG.uniform(-1, 1, ROWS), jnp.float32)
ERRORS = {
    "its own": RNG.laplace(size=ROWS),
    "heavy tails": RNG.standard_t(2, size=ROWS),
    "skewed": RNG.gamma(3.0, size=ROWS) - 3.0,
}


def line(y):
    """A regression of the median, with errors of scale 1."""
    a = numpyro.sample("a", dist.Normal(0.0, 10.0))
    b = numpyro.sample("b", dist.Normal(0.0, 10.0))
    with numpyro.plate("rows", ROWS, subsample_size=100) as rows:
        numpyro.sample("y", dist.Laplace(a + b * X[rows], 1.0), obs=y[rows])


def moments_on_a_grid(y, centre, width):
    """The exact mean and covariance of `line`, by a sum over a grid around a point."""
    steps = np.linspace(-6, 6, 121)
    a, b = centre[0] + width[0] * steps, centre[1] + width[1] * steps
    x = np.asarray(X, np.float64)
    u = np.array([[np.abs(y - i - j * x).sum() for j in b] for i in a])
    u += (a[:, None] ** 2 + b**2) / 200
    weights = np.exp(u.min() - u)
    weights /= weights.sum()
    points = np.stack(np.meshgrid(a, b, indexing="ij"), -1)
    mean = np.sum(weights[..., None] * points, (0, 1))
    away = points - mean
    return mean, np.einsum("ij,ijk,ijl->kl", weights, away, away)


@pytest.fixture(scope="module")
def targets():
    return {name: target_of(line, jnp.asarray(3 + e, jnp.float32)) for name, e in ERRORS.items()}


@pytest.mark.parametrize("errors", ERRORS)
def test_secants_find_the_width_where_the_hessian_finds_none(errors, targets):
    """Also where rows' gradients are those of another width than the density has.

    Over one standard deviation the density is not quite Gaussian, and U may differ from one by a
    tenth for each factor of the width that is checked here.
    """
    target = targets[errors]
    mode = find_mode(target, KEY, jnp.zeros(2))
    width = np.asarray(laplace(mode).spread.factor)
    assert np.all(np.linalg.norm(width, axis=1) > 5)  # The prior's is 10.
    found = with_secants(target, mode, KEY)
    assert is_sound(target, found, jax.random.key(1))
    factor = np.asarray(laplace(found).spread.factor, np.float64)
    covariance = factor @ factor.T
    y = np.float32(3 + ERRORS[errors])
    mean, exact = moments_on_a_grid(y, np.asarray(found.position), np.sqrt(np.diag(covariance)))
    ratios = np.linalg.eigvals(np.linalg.solve(exact, covariance))
    assert np.all((ratios > 0.5) & (ratios < 2.0))
    away = np.asarray(found.position) - mean
    assert away @ np.linalg.solve(exact, away) < 1.0


def test_a_sample_of_rows_reaches_as_far_as_its_own_posterior(targets, monkeypatch):
    """A tenth of the rows has the same curvature over sqrt(10) times the distance."""
    target = targets["its own"]
    mode = find_mode(target, KEY, jnp.zeros(2))
    whole = with_secants(target, mode, KEY)
    monkeypatch.setattr(secants, "SECANT_ROWS", 2 * 2 * ROWS // 10)
    fresh = target_of(line, *target.args)
    part = with_secants(fresh, mode, KEY)
    ratios = np.linalg.eigvals(np.linalg.solve(np.asarray(whole.hessian), np.asarray(part.hessian)))
    assert np.all((ratios > 0.5) & (ratios < 2.0))
    assert not np.allclose(ratios, 1.0, atol=1e-3)


def logistic(y):
    b = numpyro.sample("b", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    with numpyro.plate("rows", ROWS, subsample_size=100) as rows:
        numpyro.sample("y", dist.Bernoulli(logits=b[0] + b[1] * X[rows]), obs=y[rows])


def crossed(y):
    a = numpyro.sample("a", dist.Normal(0.0, 10.0))
    columns = numpyro.plate("columns", 3, subsample_size=2, dim=-1)
    rows = numpyro.plate("rows", 1_000, subsample_size=100, dim=-2)
    with columns as j, rows as i:
        numpyro.sample("y", dist.Laplace(a, 1.0), obs=y.reshape(1_000, 3)[i[:, None], j])


def test_a_hessian_that_misses_nothing_is_kept():
    y = jnp.asarray(RNG.uniform(size=ROWS) < 0.3, jnp.int32)
    target = target_of(logistic, y)
    assert with_secants(target, find_mode(target, KEY, jnp.zeros(2)), KEY) is None


def test_several_subsampled_plates_are_left_to_the_fit(targets):
    target = target_of(crossed, *targets["its own"].args)
    assert with_secants(target, find_mode(target, KEY, jnp.zeros(1)), KEY) is None


@final
class Others(AbstractPasses):
    """Passes that are made here, and counted."""

    def __init__(self, target):
        self.target, self.made = target, []

    def total(self, rows, centring, inputs):
        self.made.append(rows)
        return self.target.run(lambda view, *x: view.total(rows, *x), *inputs, name=(rows, "here"))


def test_passes_over_all_rows_are_left_to_those_who_make_them(targets):
    target = targets["its own"]
    mode = find_mode(target, KEY, jnp.zeros(2))
    others = Others(target)
    found = with_secants(target.with_passes(others), mode, KEY)
    assert set(others.made) == {row_sums.value_and_grad}
    expected = with_secants(target, mode, KEY)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
