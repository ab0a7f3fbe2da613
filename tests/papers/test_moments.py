"""Moments of minibatches and of SGRRLD's averages, by enumeration and in closed form."""

from itertools import combinations

import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.papers import extrapolated_moments as found
from benchmarks.papers.regression import posterior
from benchmarks.papers.subset_moments import moment


@pytest.mark.parametrize("powers", [(1, 0), (1, 1), (2, 1), (4, 0), (2, 2), (1, 3)])
@pytest.mark.parametrize("batch", [1, 2, 3, 5])
def test_moments_of_subsets_are_those_of_all_subsets(powers, batch):
    u, v = np.random.default_rng(0).normal(size=(2, 5))
    means = [(u[list(s)].mean(), v[list(s)].mean()) for s in combinations(range(5), batch)]
    exact = np.mean([a ** powers[0] * b ** powers[1] for a, b in means])
    factors = [u] * powers[0] + [v] * powers[1]
    np.testing.assert_allclose(moment(factors, batch), exact, rtol=1e-10, atol=1e-12)


def test_a_stage_is_a_polynomial_in_the_step_size():
    t = 0.37
    powers = t ** np.arange(found.ORDER + 1)
    for which, coarse in enumerate((t, 0.0)):
        direct = found.stage(coarse, t / 2, np.sqrt(t))
        np.testing.assert_allclose(np.einsum("k,kij", powers, found.stages()[which]), direct,
                                   rtol=1e-10, atol=1e-10)  # fmt: skip


def test_the_bias_at_a_constant_step_size_is_that_of_each_walker():
    """E y^2 with the E D^2, E a^2 and E D a of a minibatch, walker by walker."""
    t, count = 0.5, 40
    start, noise = found.start_moments(0.0, 1.0), found.noise_moments()

    def squares(step, steps):
        mean, square = start[found.MONOMIALS.index((1, 0))], start[found.MONOMIALS.index((2, 0))]
        total = 0.0
        for _ in range(steps):
            keep = (1 - step) ** 2 + step**2 * noise[2, 0]
            added = 2 * step + step**2 * (noise[0, 2] + 2 * noise[1, 1] * mean)
            mean, square = (1 - step) * mean, keep * square + added
            total += square
        return total / count

    exact = squares(t / 2, 2 * count) - squares(t, count) - 1
    averages = found.averages(lambda k: jnp.full(1, t) * k**0, [count], start[None])
    np.testing.assert_allclose(averages.bias[0, 0], exact, rtol=1e-9)


def test_the_error_of_one_transition_is_that_of_its_moments():
    """From a point, S = t (f_half^2 + f^2 - c^2 - 1); its moments by many draws of the walkers."""
    t, draws = 0.5, 400_000
    rng = np.random.default_rng(1)
    post, y = posterior(1), 1.5
    precision = float(post.hessian[0, 0])
    start = found.start_moments(float(post.mean[0]) + y / np.sqrt(precision), 0.0)
    exact = found.averages(lambda k: jnp.full(1, t) * k**0, [1], start[None])
    # A minibatch of 100 of 1,000 rows: normal with the exact covariance, as far as is resolved.
    moments = found.noise_moments()
    covariance = [[moments[2, 0], moments[1, 1]], [moments[1, 1], moments[0, 2]]]
    noise = rng.multivariate_normal(np.zeros(2), covariance, size=(3, draws))
    one, two = np.sqrt(t) * rng.normal(size=(2, draws))

    def move(x, h, error, heat):
        return x - h * (x + error[:, 0] * x + error[:, 1]) + heat

    coarse = move(y, t, noise[0], one + two)
    half = move(y, t / 2, noise[1], one)
    fine = move(half, t / 2, noise[2], two)
    values = half**2 + fine**2 - coarse**2 - 1
    for measured, value in [(values, exact.bias), (values**2, exact.mse)]:
        # Five standard errors: 6e-7 a comparison; the noise's third cumulant adds less than one.
        assert abs(measured.mean() - value[0, 0]) < 5 * measured.std() / np.sqrt(draws)
