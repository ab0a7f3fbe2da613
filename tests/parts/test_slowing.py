"""Noisy directions: how they are measured in high dimension, and slowed down alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc import Dense, Diagonal
from numpyro_sgmcmc.correction import CoupledCorrection, DenseCorrection, DiagonalCorrection
from numpyro_sgmcmc.preconditioner import Coupled
from numpyro_sgmcmc.preparation.noise import Noise, relative_error, wide_noise
from numpyro_sgmcmc.preparation.slowing import allowed, share_of_all, slowed, slowest
from numpyro_sgmcmc.preparation.thresholds import TOLERANCE, WALKERS
from numpyro_sgmcmc.subspace import Group, Subspace

KEYS = jax.random.split(jax.random.key(0), 8)
GROUPS = (Group(2, 2), Group(6, 1))
SUBSPACE = Subspace.of(GROUPS, jnp.ones(8))
LARGEST = jnp.asarray(0.5)


def matrix(fn, size=8):
    return np.asarray(jax.vmap(fn, out_axes=1)(jnp.eye(size)), np.float64)


def dense(variances):
    axes = jnp.linalg.qr(jax.random.normal(KEYS[0], (8, 8)))[0]
    return Dense(jax.random.normal(KEYS[1], (8, 8))), DenseCorrection(variances, axes)


def diagonal(variances):
    return Diagonal(jnp.arange(1.0, 9.0)), DiagonalCorrection(variances)


def coupled(variances):
    """The last six coordinates have the same variance, so that the map is exact."""
    axes = jnp.linalg.qr(jax.random.normal(KEYS[2], (3, 3)))[0]
    ones = jnp.ones(8)
    linear = Coupled(2 * ones, SUBSPACE, jax.random.normal(KEYS[3], (3, 3)), ones)
    outside = jnp.where(jnp.arange(8) < 2, 0.0, variances[3])
    return linear, CoupledCorrection(outside, SUBSPACE, variances[:3], axes)


def at_most(noise, error=None, unit_share=0.0):
    return allowed(Noise(*[None] * 4)._replace(correction=noise, error=error), LARGEST, unit_share)


def covariance(noise):
    """V, from its variances along sums of coordinates."""
    basis = np.eye(8)
    own = noise.along(basis)
    sums = np.array([[noise.along((a + b)[:, None] / np.sqrt(2))[0] for b in basis] for a in basis])
    found = sums - (own[:, None] + own) / 2
    np.fill_diagonal(found, own)
    return found


@pytest.mark.parametrize("kind", [dense, pytest.param(diagonal, marks=pytest.mark.long), coupled])
def test_only_noisy_directions_are_slowed_down(kind):
    quiet = jnp.array([0.1, 0.3, 0.4, 0.2, 0.1, 0.2, 0.3, 0.45])
    linear, noise = kind(quiet)
    slower, left = slowed(linear, noise, at_most(noise))
    s, t = matrix(linear.apply), matrix(slower.apply)
    np.testing.assert_allclose(s @ s.T, t @ t.T, rtol=1e-4, atol=1e-4)
    loud = quiet.at[0].set(50.0)
    linear, noise = kind(loud)
    slower, left = slowed(linear, noise, at_most(noise))
    s, t = matrix(linear.apply), matrix(slower.apply)
    assert float(left.largest) == pytest.approx(0.5)
    # One direction is slower by the root of 100, and the others are as they were.
    ratios = np.sort(np.linalg.svd(np.linalg.solve(s, t))[1])
    np.testing.assert_allclose(ratios, [0.1] + [1.0] * 7, rtol=1e-3)
    # The noise in the new coordinates is that of the old ones, seen from there.
    change = np.linalg.solve(s, t)
    expected = change.T @ covariance(noise) @ change
    np.testing.assert_allclose(expected, covariance(left), atol=2e-3)


@pytest.mark.parametrize("kind", [dense, diagonal, coupled])
def test_a_share_taken_out_is_bounded_by_what_is_known_of_the_noise(kind):
    """The share 0.5 with a relative error of 0.4 leaves 0.2 of the variance: four times the bound.

    The share of noise 0.5 is 0.5, and that of noise 0.45 is below what its error of 0.1 allows.
    """
    loud = jnp.array([50.0, 0.3, 0.4, 0.2, 0.1, 0.2, 0.3, 0.45])
    linear, noise = kind(loud)
    errors = jnp.full(8, 0.1).at[0].set(0.4)
    _, error = kind(errors)
    most = at_most(noise, error, unit_share=1.0)
    slower, left = slowed(linear, noise, most)
    expected = TOLERANCE / 2 / 0.4
    s, t = matrix(linear.apply), matrix(slower.apply)
    ratios = np.sort(np.linalg.svd(np.linalg.solve(s, t))[1])
    np.testing.assert_allclose(ratios, [np.sqrt(expected / 50)] + [1.0] * 7, rtol=1e-3)
    assert float(slowest(noise, most)) == pytest.approx(expected / 50, rel=1e-5)
    assert float(left.largest) < 0.5
    # Noise that is left in needs no such bound.
    assert float(slowest(noise, at_most(noise, error))) == pytest.approx(0.5 / 50, rel=1e-5)


def squares(key, correlated):
    """Return draws (n, 400) at 128 positions, 16 each, of variance 1 on average.

    If correlated, one walker of 8 has the variance 5.8 at all of its positions and the others 0.31,
    so that the mean over walkers has a relative standard error of 0.69.
    """
    scale = jnp.where(jnp.arange(128) % WALKERS == 0, 5.8, 2.2 / 7) if correlated else jnp.ones(128)
    draws = jax.random.normal(key, (128, 16, 400)) * jnp.sqrt(scale)[:, None, None]
    return draws.reshape(-1, 400)


def test_the_error_of_a_variance_counts_walkers():
    """Of 400 columns the median is compared; its own error is below 3 % (7 degrees of freedom).

    The largest of two estimates and their bound is taken, whose median is 1 to 1.3 times the bound.
    """
    found = np.asarray(relative_error(squares(KEYS[6], False), 128))
    smallest = np.sqrt(2 / 2048)
    assert found.min() >= smallest * (1 - 1e-6)
    assert smallest <= np.median(found) <= 1.3 * smallest
    found = np.asarray(relative_error(squares(KEYS[7], True), 128))
    assert np.median(found) == pytest.approx((5.8 - 2.2 / 7) / 8, rel=0.1)


@pytest.mark.long
def test_the_largest_noise_is_found_with_fewer_draws_than_dimensions():
    """V = I but for one direction of variance 9, from 256 draws in 2,000 dimensions.

    The eigenvalue of the draws' own covariance is near (1 + sqrt(2000 / 256))^2 = 14 even without
    that direction. Of 20 estimates the mean is compared, with 4 of its standard errors
    (false-failure rate 1e-4 with 19 degrees of freedom for each of two comparisons) and 10 % for
    the formula, which holds for many dimensions.
    """
    direction = jnp.where(jnp.arange(2_000) < 50, 1 / jnp.sqrt(50), 0.0)

    def draws_of(key, s):
        key, key_along = jax.random.split(key)
        along = jnp.sqrt(s) * jax.random.normal(key_along, (256, 1))
        return (jax.random.normal(key, (256, 2_000)) + along * direction) / 16

    @jax.jit
    def measured(s):
        def one(key):
            found = wide_noise(draws_of(key, s), Diagonal(jnp.ones(2_000)))
            return found.largest, found.residual, found.typical

        return jax.lax.map(one, jax.random.split(KEYS[4], 20))

    largest, residual, typical = map(np.asarray, measured(8.0))
    without = draws_of(KEYS[5], 0.0)
    own = jnp.linalg.eigvalsh(without @ without.T)[-1]
    assert float(own) > 12
    assert abs(largest.mean() - 9) < 4 * largest.std() / np.sqrt(19) + 0.9
    assert abs(residual.mean() - 8) < 4 * residual.std() / np.sqrt(19) + 0.8
    np.testing.assert_allclose(typical, 1.0, atol=0.1)
    alone = measured(0.0)
    assert alone[0].max() < 2 and alone[1].max() < 0.5


@pytest.mark.long
def test_noise_within_directions_is_described():
    """The same direction, but one of those of a coupled map: nothing is left."""
    groups = (Group(1, 1), Group(1_999, 1))
    subspace = Subspace.of(groups, jnp.ones(2_000))
    ones = jnp.ones(2_000)
    linear = Coupled(ones, subspace, jnp.eye(2), ones)
    extra = jax.random.normal(KEYS[5], (256, 1)) * jnp.sqrt(8.0) * subspace.vector(jnp.eye(2)[1])
    draws = (jax.random.normal(KEYS[4], (256, 2_000)) + extra) / 16
    found = wide_noise(draws, linear)
    assert abs(float(jnp.max(found.correction.inside)) - 9) < 4 * 9 * np.sqrt(2 / 256)
    assert float(found.residual) < 1


def test_without_slowing_the_worst_known_direction_limits_the_share_of_all():
    """Noise 4 with an error of 0.05, and noise 1 with one of 0.4: the latter decides.

    It may have the share 0.125, so that the loudest has 0.5.
    """
    variances, errors = jnp.full(8, 0.1), jnp.full(8, 0.01)
    noise = DiagonalCorrection(variances.at[0].set(4.0).at[1].set(1.0))
    error = DiagonalCorrection(errors.at[0].set(0.05).at[1].set(0.4))
    nothing = jnp.zeros(())
    found = share_of_all(Noise(jnp.asarray(4.0), noise, nothing, nothing, error))
    assert float(found) == pytest.approx(TOLERANCE / 2 / 0.4 * 4)
