"""A covariance of many coordinates at O(d) beside the same as a matrix."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc.preconditioner import Coupled
from numpyro_sgmcmc.subspace import Group, Subspace
from numpyro_sgmcmc.verdict.wide import WideCovariance, directions_of

GROUPS = (Group(2, 2), Group(6, 1), Group(8, 2), Group(3, 0))
D = 19


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(900, 2))
    draws = rng.normal(size=(900, D)) * np.exp(rng.normal(size=D))
    draws[:, :2] += shared
    draws[:, 2:8] += shared[:, :1]
    draws -= draws.mean(0)
    weights = rng.uniform(0.5, 1.5, 900)
    weights /= weights.sum()
    scale = np.sqrt(weights @ draws**2)
    return draws, weights, scale, WideCovariance.of(GROUPS, draws, scale, weights)


def matrix(wide):
    return wide.product(np.eye(D))


def test_product_and_diagonal_are_those_of_the_kernels_map(found):
    wide = found[3]
    factor = jnp.asarray(np.linalg.cholesky(wide.matrix))
    subspace = Subspace(jnp.asarray(wide.weights), GROUPS)
    coupled = Coupled(jnp.asarray(wide.outer), subspace, factor, jnp.ones(D))
    s = np.asarray(jax.vmap(coupled.apply)(jnp.eye(D)), np.float64).T
    size = np.abs(s @ s.T).max()
    np.testing.assert_allclose(matrix(wide), s @ s.T, atol=20 * np.finfo(np.float32).eps * size)
    np.testing.assert_allclose(wide.diagonal(), np.diag(matrix(wide)), rtol=1e-12)


def test_covariances_of_shared_parameters_with_the_means_are_the_draws_own(found):
    draws, weights, scale, wide = found
    directions = np.zeros((D, directions_of(GROUPS)))
    column = [0, 1, *[2] * 6, *[3, 4] * 4]
    directions[np.arange(16), column] = wide.weights[:16]
    np.testing.assert_allclose(directions.T @ directions, np.eye(5), atol=1e-12)
    own = (draws / scale * weights[:, None]).T @ (draws / scale)
    c = matrix(wide) / np.outer(scale, scale)
    # Each direction is P' R^(1/2) of the whole, so that the scales of its coordinates enter.
    rest = wide.outer / scale
    mean = np.sqrt(directions.T**2 @ rest**2)
    unit = np.linalg.lstsq(rest[:, None] * directions, np.eye(D), rcond=None)[0]
    expected = directions.T @ own @ directions + 1e-6 * np.eye(5)
    shared = ((unit @ c @ unit.T) * np.outer(mean, mean))[:2]  # The rest of an array adds nothing.
    np.testing.assert_allclose(shared, expected[:2], rtol=1e-9)


def test_coordinates_outside_keep_their_variances(found):
    draws, weights, _, wide = found
    np.testing.assert_allclose(wide.diagonal()[16:], weights @ draws[:, 16:] ** 2, rtol=1e-9)
