"""Fields that follow the widths of effects see what too wide effects do to a shared parameter."""

import numpy as np
import pytest

from numpyro_sgmcmc.subspace import Group
from numpyro_sgmcmc.verdict.widths import Dense, _growth, shrunk, with_widths

DRAWS, EFFECTS, GROWTH = 8_000, 80, 0.1
GROUPS = (Group(1, 1), Group(EFFECTS, 1))
WEIGHTS = np.full(DRAWS, 1 / DRAWS)


def hierarchy(rng, heat=0.0):
    """Return draws and gradients of k ~ N(0, 1) with x_j ~ N(0, exp(GROWTH k)).

    Effects are wider by `heat`, and k has moved to where its gradient is 0 on average.
    """
    k = rng.normal(size=DRAWS) + EFFECTS * GROWTH * heat / 2
    width = np.exp(GROWTH * k)
    x = rng.normal(size=(DRAWS, EFFECTS)) * np.sqrt(width * (1 + heat))[:, None]
    slope = k + GROWTH / 2 * np.sum(1 - x**2 / width[:, None], axis=1)
    gradients = np.column_stack([slope, x / width[:, None]])
    return np.column_stack([k, x]), gradients


def derivatives(draws, gradients, groups=GROUPS, dense=None):
    """Return k and the derivatives for it along a constant field and along one with widths."""
    away, scale = draws - draws.mean(0), draws.std(0)
    constant = gradients if dense is None else gradients @ dense.fields
    given = groups, away, gradients, constant, scale, WEIGHTS, dense
    return draws[:, 0], constant[:, 0], with_widths(*given)[:, 0]


def share_left(k, s):
    """Return the share of the variance of s that a line in k leaves."""
    return 1 - np.corrcoef(k, s)[0, 1] ** 2


def test_the_derivative_is_nearly_that_of_the_marginal_density():
    """Along the constant field EFFECTS GROWTH^2 / 2 = 0.4 of noise is left beside a variance of 1.

    Slopes are known to sqrt(2 / 4,000) from each half, of which all have 80 x 2 / 4,000 / 2 = 0.02.
    """
    k, constant, followed = derivatives(*hierarchy(np.random.default_rng(0)))
    assert share_left(k, constant) == pytest.approx(0.4 / 1.4, abs=0.03)
    assert share_left(k, followed) < 0.02


@pytest.mark.parametrize("heat", [0.0, 0.05, 0.1])
def test_the_shift_of_a_scale_by_hot_effects_is_seen(heat):
    """False failures: 6e-5 for each of both means."""
    _, constant, followed = derivatives(*hierarchy(np.random.default_rng(1), heat))
    shift = EFFECTS * GROWTH * heat / 2
    assert abs(constant.mean()) <= 4 * constant.std() / DRAWS**0.5
    assert abs(followed.mean() - shift) <= 4 * followed.std() / DRAWS**0.5


def test_effects_that_depend_on_each_other_are_taken_apart():
    """Effects in pairs with correlation 0.8, moved along by k.

    False failures: 6e-5 for the mean.
    """
    draws, gradients = hierarchy(np.random.default_rng(2), heat=0.1)
    mixed = np.kron(np.eye(EFFECTS // 2), np.array([[1.0, 0.8], [0.0, 0.6]]))
    change = np.eye(1 + EFFECTS)
    change[1:, 1:] = mixed
    change[0, 1:] = 0.2
    draws, gradients = draws @ change, gradients @ np.linalg.inv(change).T
    covariance = np.cov(draws.T)
    fields = covariance / np.diag(covariance)
    dense = Dense(covariance, fields)
    k, constant, followed = derivatives(draws, gradients, dense=dense)
    assert share_left(k, followed) < share_left(k, constant) / 3
    shift = EFFECTS * GROWTH * 0.1 / 2
    assert abs(followed.mean() - shift) <= 4 * followed.std() / DRAWS**0.5


@pytest.mark.parametrize("seed", range(4))
def test_fields_need_not_be_those_of_the_draws_covariance(seed):
    """Stein's identity holds along any field; one effect grows with k and the other shrinks.

    False failures: 6e-5 for each mean.
    """
    rng = np.random.default_rng(seed)
    growth, slant = np.array([0.5, -0.5]), np.array([1.0, -1.0])
    k = rng.normal(size=(DRAWS, 1))
    unit = rng.normal(size=(DRAWS, 2))
    x = unit * np.exp(growth * k / 2) + slant * k
    along = unit * np.exp(-growth * k / 2)
    slope = k[:, 0] + np.sum(growth / 2 * (1 - unit**2) - slant * along, axis=1)
    draws, gradients = np.column_stack([k, x]), np.column_stack([slope, along])
    fields = np.eye(3)
    fields[1:, 0] = slant * [0.3, 1.5]
    dense, groups = Dense(np.cov(draws.T), fields), (Group(3, 3),)
    _, constant, followed = derivatives(draws, gradients, groups, dense)
    assert not np.allclose(constant, followed)
    assert abs(followed.mean()) <= 4 * followed.std() / DRAWS**0.5


def test_widths_that_do_not_grow_leave_the_derivative_as_it_is():
    rng = np.random.default_rng(3)
    draws = rng.normal(size=(DRAWS, 1 + EFFECTS))
    _, constant, followed = derivatives(draws, draws.copy())
    np.testing.assert_allclose(constant, followed, rtol=1e-12)


def test_a_model_without_shared_parameters_has_no_such_derivatives():
    draws, gradients = hierarchy(np.random.default_rng(4))
    given = draws - draws.mean(0), gradients, gradients, draws.std(0), WEIGHTS
    assert with_widths((Group(1 + EFFECTS, 1),), *given).shape == (DRAWS, 0)


def test_noise_of_slopes_is_shrunk_and_a_common_slope_is_kept():
    rng = np.random.default_rng(5)
    noise = rng.normal(size=(2, 1_000, 1))
    one, other = shrunk(*(3.0 + noise))
    assert np.std(one) < 0.3 and np.std(other) < 0.3
    np.testing.assert_allclose([one.mean(), other.mean()], 3.0 + noise.mean((1, 2)))
    different = np.linspace(-3, 3, 1_000)[:, None]
    kept, _ = shrunk(*(different + noise))
    # A share of 3 / 4 of the variance is common, and the correlation with it grows to that root.
    assert np.corrcoef(kept[:, 0], different[:, 0])[0, 1] > 0.84
    assert np.var(kept) < np.var(different + noise[0])


def test_draws_that_do_not_move_have_no_slopes():
    """Half of the draws of one chain may be the same one, up to rounding or exactly."""
    rng = np.random.default_rng(0)
    weights = np.full(100, 0.01)
    for k in (np.ones((100, 2)), 1 + 1e-15 * rng.normal(size=(100, 2))):
        for x in (np.ones((100, 3)), rng.normal(size=(100, 3))):
            growth, slope = _growth(k, x, weights)
            np.testing.assert_array_equal(growth, 0.0)
            np.testing.assert_array_equal(slope, 0.0)
