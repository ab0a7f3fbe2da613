"""The share of noise that a correction may take out, from what is known of the noise."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGHMCSplit
from numpyro_sgmcmc.correction import CoupledCorrection, DenseCorrection, DiagonalCorrection
from numpyro_sgmcmc.preconditioner import Dense
from numpyro_sgmcmc.preparation.noise import Noise
from numpyro_sgmcmc.preparation.thresholds import (
    CAUTION_ABOUT_NOISE,
    CORRECTED_SHARE,
    EVEN_SHARE,
    NOISY_COORDINATES,
    SHARE_ALONE,
    TOLERANCE,
    UNEVEN_DRAWS,
    UNEVENNESS,
    UNEVENNESS_ALONE,
)
from numpyro_sgmcmc.preparation.tuning import _loudest
from numpyro_sgmcmc.preparation.unevenness import _coordinates
from numpyro_sgmcmc.preparation.unevenness import _share as _share_of
from numpyro_sgmcmc.subspace import Group, Subspace
from numpyro_sgmcmc.verdict.tapered import tapered_moments

POINTS = 128


def _normal(rng, shape):
    return rng.normal(size=shape)


def _rare(rng, shape):
    """Return noise that one minibatch in ten brings."""
    return rng.normal(size=shape) * (rng.random(shape) < 0.1) * np.sqrt(10)


def _variances(rng, relative, noise=_normal):
    """Return sample variances whose expectations have this relative standard deviation."""
    true = 1 + relative * np.resize([1.0, -1.0], POINTS) * np.sqrt((POINTS - 1) / POINTS)
    sampled = noise(rng, (POINTS, 2, UNEVEN_DRAWS // 2)).var(axis=2, ddof=1)
    return jnp.asarray(true[:, None] * sampled)[:, :, None]


def _share(variances, curvatures, together=0.0):
    """Return the share if noise and curvature vary together by so much."""
    return _share_of(variances, curvatures, jnp.full(POINTS, together), jnp.ones(()))


def _curvatures(relative):
    return jnp.asarray(1 + relative * np.resize([1.0, -1.0], POINTS))[:, None]


def test_even_noise_may_be_corrected_up_to_the_limit():
    """The unevenness of even noise is estimated as 0.02, from pairs with an error of 6 %."""
    rng = np.random.default_rng(1)
    assert float(_share(_variances(rng, 0.0), _curvatures(0.0))) == pytest.approx(CORRECTED_SHARE)


def test_uneven_noise_of_a_gaussian_may_be_corrected_as_far_as_tails_allow():
    rng = np.random.default_rng(0)
    assert float(_share(_variances(rng, 0.8), _curvatures(0.0))) == pytest.approx(EVEN_SHARE)
    found = float(_share(_variances(rng, 0.35), _curvatures(0.0)))
    # The covariance of 128 pairs, 0.12, has an error of 0.04.
    assert EVEN_SHARE < found < CORRECTED_SHARE
    assert found == pytest.approx(UNEVENNESS / 0.35, rel=0.4)


def test_uneven_noise_makes_tails_heavy_and_leaves_the_variance():
    """The exact moments of Euler steps (1 - h) z + sqrt(2 h) sigma(z) xi tend to those stated.

    sigma^2 = 1 + s a (z^2 - 1). The errors are of order h, and halve with it.
    """
    share = 0.1

    def moments(h):
        keep = 1 - h
        second = 2 * h * (1 - share) / (1 - keep**2 - 2 * h * share)
        # E z'^4 = k^4 m4 + 12 h k^2 E z^2 sigma^2 + 12 h^2 E sigma^4
        own = keep**4 + 12 * h * keep**2 * share + 12 * h**2 * share**2
        rest = 12 * h * keep**2 * (1 - share) * second
        rest += 12 * h**2 * ((1 - share) ** 2 + 2 * share * (1 - share) * second)
        return np.array([second, rest / (1 - own)])

    limit = np.array([1.0, 3 * (1 - share) / (1 - 3 * share)])
    errors = np.abs([moments(h) - limit for h in (2e-4, 1e-4)])
    np.testing.assert_allclose(errors[0] / errors[1], 2.0, rtol=0.01)


def test_uneven_noise_of_a_bent_density_may_be_corrected_as_far_as_the_mean_allows():
    """A share s moves the mean by s x 0.8 x 1.2 / 2 standard deviations."""
    found = float(_share(_variances(np.random.default_rng(0), 0.8), _curvatures(1.2)))
    # The covariance of 128 pairs, each value with an error of a half, has one of 6 %.
    assert found == pytest.approx(TOLERANCE / 2 / (0.8 * 1.2 / 2), rel=0.25)


def test_heavy_tails_are_not_taken_for_uneven_noise():
    """Sample variances that differ by chance have a covariance above 0 half of the time.

    Fewer than 5 of 20 seeds have it below 0 with probability 0.006.
    """
    found = [
        float(_share(_variances(np.random.default_rng(i), 0.0, _rare), _curvatures(2.0)))
        for i in range(20)
    ]
    assert sum(share > 0.2 for share in found) >= 5


def test_the_error_of_the_average_limits_the_share():
    """One position of 128 has all the noise: the average is unknown by its own size."""
    values = np.full((POINTS, 2, 1), 0.0)
    values[0] = POINTS
    found = float(_share(jnp.asarray(values), _curvatures(0.0)))
    assert found == pytest.approx(TOLERANCE / 2 / CAUTION_ABOUT_NOISE, rel=1e-3)


@pytest.mark.parametrize("together", [-0.5, 0.5])
def test_noise_that_varies_with_curvatures_may_be_corrected_as_far_as_a_variance_allows(together):
    """A share s changes the variance of a scale by s x 0.5 / 3."""
    found = float(_share(_variances(np.random.default_rng(0), 0.0), _curvatures(0.0), together))
    assert found == pytest.approx(TOLERANCE / 2 / (0.5 / 3))


@pytest.mark.parametrize(("typical", "expected"), [(2.0, 2.0), (0.0, 1.0)])
def test_the_share_is_that_of_typical_noise_or_of_the_least_that_slowing_leaves(typical, expected):
    """Where most directions have no noise, a tenth of the loudest one's 10 is left in."""
    noise = Noise(jnp.asarray(10.0), None, jnp.zeros(()), jnp.asarray(typical))
    found = _loudest(noise, jnp.asarray(0.5), jnp.asarray(0.05))
    assert float(found) == pytest.approx(expected)


def test_noise_or_curvature_that_is_not_finite_is_not_corrected():
    rng = np.random.default_rng(0)
    assert float(_share(_variances(rng, 0.0), _curvatures(0.0), np.nan)) == 0.0


def test_a_density_without_curvature_has_no_such_bound():
    assert float(_share(_variances(np.random.default_rng(0), 0.8), _curvatures(0.0) * 0)) == 0.0


def test_a_quiet_direction_does_not_limit_a_noisy_one():
    rng = np.random.default_rng(0)
    noisy, quiet = _variances(rng, 0.0), 1e-3 * _variances(rng, 0.9)
    both = jnp.concatenate([noisy, quiet], axis=2)
    bent = jnp.concatenate([_curvatures(1.0), _curvatures(1.0)], axis=1)
    assert float(_share(both, bent)) == pytest.approx(CORRECTED_SHARE)


def test_the_middle_of_a_distribution_is_as_much_too_narrow_as_is_said():
    """sigma^2 = 1 + e (z^2 - 1) heats a unit Gaussian; its density is known in closed form.

    The tapered scale is 0.46 e smaller, and its error is of the order of e^2.
    """
    z = np.linspace(-8, 8, 200_001)

    def error(e):
        heat = 1 + e * (z**2 - 1)
        # The derivative of U is z / heat + (log heat)'.
        density = np.exp(-np.log(heat) * (1 / (2 * e) + 1))
        weights = density / density.sum()
        wanted = tapered_moments(z[:, None], weights, z[:, None], z[:, None], weights).asked
        return float((wanted.square - wanted.mean**2)[0]) ** -0.5 - 1

    assert error(0.02) == pytest.approx(-0.46 * 0.02, abs=0.02**2)
    assert error(0.05) == pytest.approx(-0.46 * 0.05, abs=0.05**2)


def test_uneven_noise_of_coordinates_limits_the_share():
    """Four mixed directions are even; eight coordinates are not."""
    rng = np.random.default_rng(0)
    even = jnp.concatenate([_variances(rng, 0.0)] * 4, axis=2)
    bends = jnp.concatenate([_curvatures(0.0)] * 4, axis=1)

    def share(relative, noise=1.0):
        alone = [noise * _variances(rng, relative) for _ in range(8)]
        return float(_share(jnp.concatenate([even, *alone], axis=2), bends))

    # The average of 8 covariances, each with an error of 0.07 where it is 0.36.
    assert share(0.6) == pytest.approx(UNEVENNESS_ALONE / 0.6, rel=0.1)
    assert share(0.6, noise=0.5) == pytest.approx(2 * UNEVENNESS_ALONE / 0.6, rel=0.1)
    assert share(0.6, noise=5.0) == pytest.approx(UNEVENNESS_ALONE / 0.6, rel=0.1)
    assert share(0.0) > EVEN_SHARE
    assert share(0.95) == pytest.approx(SHARE_ALONE)


@pytest.mark.parametrize("rows", [2, 12])
def test_coordinates_are_moved_along_the_directions_that_are_looked_at(rows):
    """Along S' e_j coordinate j moves by |S' e_j|, farther than along any other unit vector."""
    rng = np.random.default_rng(0)
    factor = np.eye(rows) + 0.2 * rng.normal(size=(rows, rows))
    linear = Dense(jnp.asarray(factor))
    places = [1, 0] if rows == 2 else [5, 7]
    directions = 0.01 * rng.normal(size=(2, rows))
    directions[[0, 1], places] = 1.0
    found = np.asarray(_coordinates(linear, jnp.asarray(directions)))
    assert found.shape == (min(rows, NOISY_COORDINATES), rows)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-6)
    moved = found @ factor.T
    farthest = np.linalg.norm(factor, axis=1)
    reached = [int(np.argmin(np.abs(np.abs(row) / farthest - 1))) for row in moved]
    assert set(places) <= set(reached)
    assert len(set(reached)) == len(reached)


@pytest.mark.parametrize("kind", ["diagonal", "dense", "coupled"])
def test_noisiest_directions(kind):
    rng = np.random.default_rng(0)
    variances = jnp.asarray(rng.permutation(6) + 1.0)
    if kind == "diagonal":
        correction = DiagonalCorrection(variances)
    elif kind == "dense":
        axes = jnp.asarray(np.linalg.qr(rng.normal(size=(6, 6)))[0])
        correction = DenseCorrection(variances, axes)
    else:
        groups = (Group(1, 1), Group(5, 1))
        subspace = Subspace.of(groups, jnp.ones(6))
        inside_axes = jnp.asarray(np.linalg.qr(rng.normal(size=(2, 2)))[0])
        correction = CoupledCorrection(jnp.ones(6), subspace, jnp.array([9.0, 4.0]), inside_axes)
    rows = np.asarray(correction.noisiest(2), np.float64)
    np.testing.assert_allclose(rows @ rows.T, np.eye(2), atol=1e-6)
    expected = [9.0, 4.0] if kind == "coupled" else [6.0, 5.0]
    found = []
    for row in rows:
        basis = np.linalg.qr(np.column_stack([row, np.eye(6)]))[0]
        found.append(correction.along(basis)[0])
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def bounded(features, response):
    """Weights near their bounds: unconstrained, their densities have one heavy tail."""
    weights = numpyro.sample("weights", dist.Uniform(0.0, 1.0).expand([3]).to_event(1))
    with numpyro.plate("rows", 2_000, subsample_size=100) as i:
        numpyro.sample("y", dist.Normal(features[i] @ weights, 1.0), obs=response[i])


@pytest.mark.slow
def test_an_untuned_run_near_bounds_is_right():
    """The posterior is a normal one, truncated to the cube: its moments come from rejection.

    Each of 6 means may be off by 0.1 standard deviations plus 4.5 standard errors, and each sd by
    5 %: false-failure rate 1e-4.
    """
    rng = np.random.default_rng(0)
    features = rng.normal(size=(2_000, 3)).astype(np.float32)
    response = (features @ [0.02, 0.5, 0.99] + rng.normal(size=2_000)).astype(np.float32)
    precision = features.T.astype(float) @ features
    centre = np.linalg.solve(precision, features.T.astype(float) @ response)
    exact = rng.multivariate_normal(centre, np.linalg.inv(precision), size=400_000)
    exact = exact[np.all((exact > 0) & (exact < 1), axis=1)]
    mcmc = MCMC(
        SGHMCSplit(bounded),
        num_warmup=1_000,
        num_samples=4_000,
        num_chains=4,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.run(jax.random.key(0), jnp.asarray(features), jnp.asarray(response))
    draws = np.asarray(mcmc.get_samples()["weights"])
    sd = exact.std(0)
    error = 4.5 / np.sqrt(0.2 * len(draws))
    assert (np.abs(draws.mean(0) - exact.mean(0)) / sd < 0.1 + error).all()
    assert (np.abs(draws.std(0) / sd - 1) < 0.05 + error).all()
