"""Maps and corrections at O(d), compared with the matrices that they stand for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc.correction import CoupledCorrection
from numpyro_sgmcmc.preconditioner.coupled import Coupled
from numpyro_sgmcmc.subspace import Group, Subspace

GROUPS = (Group(3, 3), Group(8, 2), Group(4, 0), Group(5, 1))
SIZE, DIRECTIONS = 20, 6
KEYS = jax.random.split(jax.random.key(0), 8)
WEIGHTS = jnp.exp(0.3 * jax.random.normal(KEYS[0], (SIZE,)))
SUBSPACE = Subspace.of(GROUPS, WEIGHTS)
FACTOR = jnp.eye(DIRECTIONS) + 0.3 * jax.random.normal(KEYS[1], (DIRECTIONS, DIRECTIONS))
LINEAR = Coupled(
    jnp.exp(jax.random.normal(KEYS[2], (SIZE,))),
    SUBSPACE,
    FACTOR,
    jnp.exp(0.2 * jax.random.normal(KEYS[3], (SIZE,))),
)


def basis():
    """P, written out."""
    columns = [np.eye(SIZE)[i] for i in range(3)]
    for start, stop, step in ((3, 11, 2), (4, 11, 2), (15, 20, 1)):
        column = np.zeros(SIZE)
        column[start:stop:step] = np.asarray(WEIGHTS)[start:stop:step]
        columns.append(column / np.linalg.norm(column))
    return np.stack(columns, axis=1)


def matrix(fn, size=SIZE):
    return np.asarray(jax.vmap(fn, out_axes=1)(jnp.eye(size)), np.float64)


def test_directions_are_coordinates_and_weighted_means():
    p = basis()
    assert SUBSPACE.size == DIRECTIONS
    np.testing.assert_allclose(p.T @ p, np.eye(DIRECTIONS), atol=1e-12)
    np.testing.assert_allclose(matrix(SUBSPACE.coordinates), p.T, atol=1e-6)
    np.testing.assert_allclose(matrix(SUBSPACE.outside), np.eye(SIZE) - p @ p.T, atol=1e-6)
    c = jnp.arange(1.0, DIRECTIONS + 1)
    np.testing.assert_allclose(SUBSPACE.vector(c), p @ np.asarray(c), rtol=1e-5)
    np.testing.assert_allclose(SUBSPACE.squares(c), np.diag(p * c @ p.T), rtol=1e-5)
    v, outside = jnp.linspace(0.2, 0.8, SIZE), np.eye(SIZE) - p @ p.T
    expected = np.diag(outside @ np.diag(v) @ outside)
    np.testing.assert_allclose(SUBSPACE.diagonal_outside(v), expected, atol=1e-6)


def test_further_directions_are_orthogonal_to_those_of_the_groups():
    more = jax.random.normal(KEYS[4], (4, SIZE))
    wider = SUBSPACE.extended(more)
    p = matrix(wider.vector, DIRECTIONS + 4)
    np.testing.assert_allclose(p.T @ p, np.eye(DIRECTIONS + 4), atol=1e-6)
    np.testing.assert_allclose(p[:, :DIRECTIONS], basis(), atol=1e-6)
    rest = more - more @ p @ p.T
    np.testing.assert_allclose(rest, np.zeros_like(rest), atol=1e-5)
    np.testing.assert_allclose(matrix(wider.coordinates), p.T, atol=1e-6)
    np.testing.assert_allclose(matrix(wider.outside), np.eye(SIZE) - p @ p.T, atol=1e-6)
    c, v = jnp.arange(1.0, DIRECTIONS + 5), jnp.linspace(0.2, 0.8, SIZE)
    np.testing.assert_allclose(wider.squares(c), np.diag(p * c @ p.T), rtol=1e-4)
    np.testing.assert_allclose(wider.means(v), (p**2).T @ v, rtol=1e-5)
    outside = np.eye(SIZE) - p @ p.T
    expected = np.diag(outside @ np.diag(v) @ outside)
    np.testing.assert_allclose(wider.diagonal_outside(v), expected, atol=1e-6)


def test_the_map_is_its_matrix():
    p = basis()
    middle = np.eye(SIZE) + p @ (np.asarray(FACTOR) - np.eye(DIRECTIONS)) @ p.T
    expected = np.diag(LINEAR.outer) @ middle @ np.diag(LINEAR.inner)
    np.testing.assert_allclose(matrix(LINEAR.apply), expected, atol=1e-5)
    np.testing.assert_allclose(matrix(LINEAR.transpose), expected.T, atol=1e-5)
    np.testing.assert_allclose(matrix(LINEAR.inverse().apply), np.linalg.inv(expected), atol=1e-4)


def correction_of(outside):
    inside = jnp.linspace(0.1, 0.6, DIRECTIONS)
    axes = jnp.linalg.qr(jax.random.normal(KEYS[5], (DIRECTIONS, DIRECTIONS)))[0]
    return CoupledCorrection(outside, SUBSPACE, inside, axes)


def covariance(correction):
    p, outside = basis(), np.eye(SIZE) - basis() @ basis().T
    axes = np.asarray(correction.inside_axes, np.float64)
    w = axes @ np.diag(np.asarray(correction.inside)) @ axes.T
    return p @ w @ p.T + outside @ np.diag(np.asarray(correction.outside)) @ outside


def test_the_injected_noise_and_gradient_noise_sum_to_the_identity():
    v = jnp.repeat(jnp.array([0.9, 0.2, 0.3, 0.5]), jnp.array([3, 8, 4, 5]))
    correction = correction_of(v)
    reduced = matrix(lambda dw: correction.reduce(dw, lambda v: 0.7 * v))
    total = reduced @ reduced.T + 0.7 * covariance(correction)
    np.testing.assert_allclose(total, np.eye(SIZE), atol=1e-5)


@pytest.mark.parametrize("own", [True, False], ids=["coordinates", "others"])
def test_variances_along_axes(own):
    correction = correction_of(jnp.linspace(0.2, 0.8, SIZE))
    axes = None if own else np.linalg.qr(np.asarray(jax.random.normal(KEYS[6], (SIZE, SIZE))))[0]
    whole = covariance(correction)
    expected = np.diag(whole) if axes is None else np.diag(axes.T @ whole @ axes)
    for factor in (1.0, 4.0):
        found = correction.at_temperature(factor).along(axes)
        np.testing.assert_allclose(found, expected / factor, atol=1e-5)
    np.testing.assert_allclose(correction.diagonal().variances, np.diag(whole), atol=1e-5)
    assert float(correction.largest) >= np.linalg.eigvalsh(whole)[-1]
    level = correction_of(jnp.full(SIZE, 0.7))
    np.testing.assert_allclose(level.largest, np.linalg.eigvalsh(covariance(level))[-1], rtol=1e-5)
