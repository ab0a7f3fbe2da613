"""Directions that many effects share, in densities whose Hessian misses their kinks."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from numpyro_sgmcmc import UniformMinibatch
from numpyro_sgmcmc.model import read_structure
from numpyro_sgmcmc.preparation import Target, coupling
from numpyro_sgmcmc.preparation.coupling import coupled

GROUPS, ROWS, SLOPES, PRIOR = 100, 5_000, 3, 0.3
RNG = np.random.default_rng(0)
GROUP = RNG.integers(0, GROUPS, ROWS)
X = RNG.normal(size=(ROWS, SLOPES)) + 1.0
ERRORS = {"kinks": RNG.laplace(size=ROWS), "none": RNG.normal(size=ROWS)}
DENSITIES = {"kinks": dist.Laplace, "none": dist.Normal}


def model(x, group, y, density):
    """Each group has an effect of its own, and moves against the slopes of columns of mean 1."""
    slope = numpyro.sample("slope", dist.Normal(0, 10).expand([SLOPES]).to_event(1))
    with numpyro.plate("groups", GROUPS):
        effect = numpyro.sample("effect", dist.Normal(0, PRIOR))
    with numpyro.plate("rows", ROWS, subsample_size=100) as i:
        numpyro.sample("y", density(x[i] @ slope + effect[group[i]], 1.0), obs=y[i])


@pytest.mark.parametrize("kind", ERRORS)
def test_the_matrix_of_the_directions_is_that_of_secants(kind, monkeypatch):
    """Errors of scale 1 have a density whose negative logarithm has an expected curvature of 1.

    Its secants over one standard deviation see the kinks of some fifty rows, so that each has a
    relative error of about a seventh; the four directions are within a factor of 2, 4 errors or
    more. Hessians along the slopes would be those of the prior: a hundred times as wide.
    """
    columns = np.concatenate([X, np.eye(GROUPS)[GROUP]], axis=1)
    prior = np.append(np.full(SLOPES, 0.01), np.full(GROUPS, 1 / PRIOR**2))
    precision = columns.T @ columns + np.diag(prior)
    order = np.append(np.arange(SLOPES, SLOPES + GROUPS), np.arange(SLOPES))  # by site's name
    precision = precision[np.ix_(order, order)]
    args = tuple(map(jnp.asarray, (X, GROUP, ERRORS[kind])))
    args = tuple(x.astype(jnp.float32) if x.dtype == jnp.float64 else x for x in args)
    args = (*args, DENSITIES[kind])
    target = Target(read_structure(model, args, {}), UniformMinibatch(), args, {})
    scale = jnp.asarray(np.diag(precision) ** -0.5, jnp.float32)
    used = []
    secants = coupling.secants_along
    monkeypatch.setattr(coupling, "secants_along", lambda *x: used.append(x) or secants(*x))
    found = coupled(target, jnp.zeros_like(scale), scale)
    basis = np.asarray(jax.vmap(found.subspace.vector)(jnp.eye(SLOPES + 1)), np.float64)
    inward = basis * np.asarray(scale)
    exact = inward @ precision @ inward.T
    factor = np.asarray(found.factor, np.float64)
    ratios = np.linalg.eigvalsh(factor.T @ exact @ factor)
    assert bool(used) == (kind == "kinks")
    if kind == "none":
        np.testing.assert_allclose(ratios, 1, rtol=1e-3)  # float32
    assert 0.5 < ratios.min() < ratios.max() < 2
