"""The factorisation of film ratings: conditional distributions, simulated pairs, squared bias.

Tolerances are z = 4.5 Monte Carlo standard errors: false failures 7e-6 a comparison, and keys are
fixed.
"""

import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.util import log_density
from scipy.sparse import csr_array

from benchmarks.papers.finding import Verdict
from benchmarks.papers.p003_films import bound, simulated
from benchmarks.papers.p003_films_exact import given, sweeps
from benchmarks.papers.p003_films_findings import ours
from benchmarks.papers.p003_films_runs import GIVEN, TURNING, Plan, scales, together
from benchmarks.papers.p003_films_small import squared_bias
from benchmarks.papers.p003_films_table import OURS
from benchmarks.papers.p003_films_untuned import Call, untuned

Z = 4.5


@pytest.fixture(scope="module")
def films():
    return simulated(8, 9, 50, 40, 2, 0.3)


def matrices(films):
    place = films.film, films.user
    seen = csr_array((np.ones(len(films.film)), place), shape=films.shape)
    return seen, csr_array((films.rating.astype(np.float64), place), shape=films.shape)


def test_simulated_pairs_are_distinct_and_the_given_numbers_are_fitted(films):
    pairs = np.concatenate([films.film, films.test_film]) * 1_000.0
    pairs += np.concatenate([films.user, films.test_user])
    assert len(np.unique(pairs)) == len(pairs) == 50
    assert len(films.rating) == 40
    assert abs(films.rating.mean()) < 1e-6


def test_given_one_matrix_the_rows_of_the_other_have_the_mean_and_covariance_of_their_density(
    films,
):
    other = np.random.default_rng(0).normal(size=(films.shape[1], films.rank))
    seen, rating = matrices(films)
    mine = films.film == 0
    x = other[films.user[mine]]
    precision = np.eye(2) + x.T @ x
    mean = np.linalg.solve(precision, x.T @ films.rating[mine])
    np.testing.assert_allclose(given(seen, rating, other, None)[0], mean, rtol=1e-6)
    rng, count = np.random.default_rng(1), 4_000
    draws = np.array([given(seen, rating, other, rng)[0] for _ in range(count)])
    white = (draws - mean) @ np.linalg.cholesky(precision)
    assert (abs(white.mean(0)) < Z / np.sqrt(count)).all()
    products = white.T @ white / count
    error = np.sqrt((1 + np.eye(2)) / count)
    assert (abs(products - np.eye(2)) < Z * error).all()


def test_least_squares_raise_the_models_own_density(films):
    """Each half of a sweep is the maximum over one matrix."""
    data = tuple(map(jnp.asarray, (films.film, films.user, films.rating)))

    def density(of_film, of_user):
        values = {"W": jnp.asarray(of_film), "H": jnp.asarray(of_user)}
        return float(log_density(bound(films, len(films.film)), data, {}, values)[0])

    seen, rating = matrices(films)
    rng = np.random.default_rng(2)
    of_user = rng.normal(size=(films.shape[1], films.rank))
    of_film = given(seen, rating, of_user, None)
    best = density(of_film, of_user)
    for _ in range(5):
        assert density(of_film + 0.05 * rng.normal(size=of_film.shape), of_user) < best


def test_sweeps_predict_by_the_product_of_both_matrices(films):
    start = np.random.default_rng(3).normal(size=(films.shape[1], films.rank))
    seen, rating = matrices(films)
    of_film = given(seen, rating, start, None)
    of_user = given(seen.T.tocsr(), rating.T.tocsr(), of_film, None)
    expected = (of_film @ of_user.T)[films.test_film, films.test_user]
    np.testing.assert_allclose(next(sweeps(films, start, None)), expected)


@pytest.mark.parametrize("bias", [0.0, 0.2])
def test_squared_bias_is_that_of_the_mean_and_its_error_no_less_than_stated(bias):
    rng, count, known = np.random.default_rng(4), 400, 0.01
    chains = bias + rng.normal(size=(count, 16, 50))
    reference = np.sqrt(known) * rng.normal(size=(count, 1, 50))
    value = np.array([squared_bias(away, known)[0] for away in chains - reference])
    assert abs(value.mean() - bias**2) < Z * value.std() / np.sqrt(count)
    # Without bias a jackknife's variance is twice that of a product of two chains.
    value, error = np.array([squared_bias(away, 0.0) for away in chains]).T
    assert error.mean() > value.std() * (1 - Z / np.sqrt(2 * count))


def test_sgrrld_takes_half_as_many_transitions():
    plan = Plan(1e-3, 10, 5)
    half = plan.of("SGRRLD")
    assert (half.burn_in, half.transitions) == (250, 5_250)
    assert plan.of("SGLD") == plan
    assert half.kept()[-1] == 1_000
    assert plan.kept()[-1] == 2_000


@pytest.mark.long
def test_the_untuned_run_predicts_and_its_warm_up_is_part_of_all_its_seconds(films):
    call = Call(batch=20, num_warmup=20, num_samples=8, chains=1, records=3)
    course = untuned(films, call)
    assert course.error.shape == (1, len(course.seconds)) == (1, 3)
    assert course.warmup > 0
    assert (np.diff([course.warmup, *course.seconds]) > 0).all()
    assert np.isfinite(course.mean).all()


def test_scales_are_those_of_the_models_conditional_precisions(films):
    """One over the root of 1 plus the number of ratings, H before W, as in a flat position."""
    users, count = films.shape[1], films.rank
    found = scales(films)
    assert found.shape == (films.dimension,)
    np.testing.assert_allclose(found[0] ** -2, 1 + np.sum(films.user == 0), rtol=1e-6)
    of_film = found[users * count :].reshape(-1, count)
    np.testing.assert_allclose(of_film[3] ** -2, 1 + np.sum(films.film == 3), rtol=1e-6)


@pytest.mark.parametrize("method", [GIVEN, TURNING])
def test_ours_runs_with_a_given_step_size(films, method):
    plan = Plan(0.02, 10, 5, burn_in=4, transitions=24, thinning=5, records=2)
    course = together(films, {method: plan}, 2)[method]
    assert course.error.shape == (2, 2)
    assert np.isfinite(course.mean).all()
    assert list(course.gradients) == [10 * 9, 10 * 24]


def row(method, seconds, measured, warmup=0.0):
    return {
        "data": "films",
        "kind": "test error",
        "method": method,
        "seconds": seconds,
        "measured": measured,
        "error": 0.001,
        "exact": 0.9,
        "warmup": warmup,
    }


@pytest.mark.parametrize(
    ("seconds", "measured", "verdict"),
    [
        ((3.0, 4.0), (0.95, 0.94), Verdict.HOLDS),
        ((6.0, 7.0), (0.95, 0.94), Verdict.FAILS),
        ((3.0, 4.0), (1.1, 1.05), Verdict.FAILS),
        ((3.0, 6.0), (1.0, 0.94), Verdict.OPEN),
    ],
    ids=["in time", "too late", "never", "within the errors only"],
)
def test_ours_is_judged_at_half_of_the_time_of_sgrrlds_best(seconds, measured, verdict):
    mine = [row(OURS, *each, 2.5) for each in zip(seconds, measured, strict=True)]
    best = [row("SGRRLD", 1.0, 1.2), row("SGRRLD", 10.0, 1.0)]
    found = ours([*best, *mine], "films", OURS)
    assert found.criterion == verdict
    assert "untuned" in found.claim
