"""The kernel Stein discrepancy against automatic differentiation, and its expectation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc.stein import kernel_stein_discrepancy
from tests.marks import briefly
from tests.oracles.discrepancy import pair

Z = 4.0
"""Largest standardised deviation: 6.3e-5 a comparison, fifteen in this file: 1e-3 in all."""

RUNS = 2_000
discrepancy = jax.jit(kernel_stein_discrepancy, static_argnames=("scale", "diagonal"))


def stein_kernel(x, y, gradient_x, gradient_y, scale):
    """Both Langevin Stein operators on the base kernel, by automatic differentiation."""

    def base(x, y):
        return (scale**2 + jnp.sum((x - y) ** 2)) ** -0.5

    in_y = lambda x, y: jax.grad(base, 1)(x, y) - gradient_y * base(x, y)  # noqa: E731
    return jnp.trace(jax.jacfwd(in_y, 0)(x, y)) - gradient_x @ in_y(x, y)


@pytest.mark.parametrize("scale", [1.0, 0.6])
@pytest.mark.parametrize("count", [2, 70])
def test_stein_kernel(count, scale):
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(0))
        draws, gradients = (jax.random.normal(k, (count, 3)) + 2.0 for k in keys)
        over_y = jax.vmap(stein_kernel, (None, 0, None, 0, None))
        over_both = jax.vmap(over_y, (0, None, 0, None, None))
        matrix = np.asarray(jax.jit(over_both)(draws, draws, gradients, gradients, scale))
        off = matrix.sum() - np.trace(matrix)
        found = [
            discrepancy(draws, gradients, scale=scale, diagonal=diagonal)
            for diagonal in (False, True)
        ]
        np.testing.assert_allclose(found[0], off / (count * (count - 1)), rtol=1e-10)
        np.testing.assert_allclose(found[1], matrix.mean(), rtol=1e-10)
        # Two estimates: their mean off the diagonal, their product on it.
        shift = 0.1 * draws
        twice = discrepancy(draws, gradients - shift, gradients + shift, scale=scale)
        less = jnp.sum(shift**2) / (scale * count**2)
        np.testing.assert_allclose(twice, matrix.mean() - less, rtol=1e-10)


def replicates(seed, count, dimension, sd=1.0, noise=0.0, twice=False, **options):
    """Discrepancies from N(0, I) of draws of N(0, sd^2 I), with noisy gradients."""

    @jax.jit
    @jax.vmap
    def one(key):
        key_draws, *keys = jax.random.split(key, 3)
        draws = sd * jax.random.normal(key_draws, (count, dimension))
        noisy = [draws + noise * jax.random.normal(k, draws.shape) for k in keys]
        return kernel_stein_discrepancy(draws, *noisy[: 1 + twice], **options)

    return np.asarray(one(jax.random.split(jax.random.key(seed), RUNS)), np.float64)


def assert_mean(values, expected):
    error = values.std(ddof=1) / np.sqrt(len(values))
    score = (values.mean() - expected) / error
    assert abs(score) < Z, f"{values.mean()} for {expected}: {score:.1f} standard errors"


@pytest.mark.parametrize("dimension", [1, 5])
@pytest.mark.parametrize("noise", [0.0, 3.0])
def test_the_u_statistic_of_exact_draws_is_zero_with_noisy_gradients_too(dimension, noise):
    assert_mean(replicates(1, 40, dimension, noise=noise, diagonal=False), 0.0)


@pytest.mark.parametrize("sd", [0.7, 1.3])
@pytest.mark.parametrize("noise", briefly([0.0, 3.0], [3.0]))
def test_a_wrong_variance_has_its_exact_discrepancy(sd, noise):
    expected = pair(sd**2, 0.0)
    assert expected > 0.01
    assert_mean(replicates(2, 40, 1, sd=sd, noise=noise, diagonal=False), expected)
    twice = replicates(3, 40, 1, sd=sd, noise=noise, twice=True)
    assert_mean(twice, (39 * expected + sd**2 + 1) / 40)


def test_a_wrong_variance_is_positive_in_several_dimensions():
    values = replicates(4, 40, 5, sd=1.3, diagonal=False)
    assert values.mean() > Z * values.std(ddof=1) / np.sqrt(RUNS)


@pytest.mark.parametrize("twice", [False, True])
def test_noise_on_the_diagonal_counts_unless_gradients_are_estimated_twice(twice):
    """Exact draws: (E |g|^2 / c + d / c^3) / n, and E |e|^2 / (n c) with one estimate."""
    values = replicates(5, 40, 5, noise=3.0, twice=twice, scale=0.8)
    assert_mean(values, (5 * (1 if twice else 10) / 0.8 + 5 / 0.8**3) / 40)
