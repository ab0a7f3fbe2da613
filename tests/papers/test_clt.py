"""The exact law of SGRRLD's average against a matrix of all increments and against simulation."""

import numpy as np
import pytest

from benchmarks.papers.common import load, select
from benchmarks.papers.extrapolated_law import law
from benchmarks.papers.finding import Verdict
from benchmarks.papers.p003_claim_clt import findings, moments

FIRST, COUNT = 0.8, 7
CELLS = [(1 / 3, 1.0), (0.1, 0.5), (0.2, 0.0)]


def steps(alpha):
    return FIRST * np.arange(1, COUNT + 2) ** -alpha


def walked(alpha, correlation, start, increments):
    """Yield fine walker after each half, coarse walker and weight, linear in what is given.

    `increments` has a function for each transition, which returns its g1, g2 and w.
    """
    t = steps(alpha)
    fine = coarse = start
    for k in range(COUNT):
        g1, g2, w = increments(k)
        half = (1 - t[k] / 2) * fine + np.sqrt(t[k]) * g1
        fine = (1 - t[k] / 2) * half + np.sqrt(t[k]) * g2
        shared = correlation * np.sqrt(t[k]) * (g1 + g2)
        coarse = (1 - t[k]) * coarse + shared + np.sqrt(2 * t[k] * (1 - correlation**2)) * w
        yield half, fine, coarse, t[k + 1]


@pytest.mark.parametrize(("alpha", "correlation"), CELLS)
def test_cumulants_are_those_of_the_quadratic_form(alpha, correlation):
    """The sum is g' Q g of all Gaussian variables g: its cumulants are 2^(j-1) (j-1)! tr Q^j."""
    basis = np.eye(1 + 3 * COUNT)
    form, time = np.zeros_like(basis), 0.0
    for half, fine, coarse, weight in walked(
        alpha, correlation, basis[0], lambda k: basis[1 + 3 * k : 4 + 3 * k]
    ):
        form += weight * (np.outer(half, half) + np.outer(fine, fine) - np.outer(coarse, coarse))
        time += weight
    powers = np.linalg.eigvalsh(form)[:, None] ** np.arange(1, 5)
    mean, variance, third, fourth = powers.sum(0) * [1, 2, 8, 48] / time ** np.arange(1, 5)
    found = law(FIRST, np.array([alpha]), COUNT, np.array([correlation]))
    exact = mean - 1, variance, third / variance**1.5, fourth / variance**2, time
    # Both are sums of a few hundred terms in double precision.
    np.testing.assert_allclose(np.ravel(found[:5]), exact, rtol=1e-11)


@pytest.mark.parametrize(("alpha", "correlation"), CELLS)
def test_cumulants_are_those_of_simulated_walkers(alpha, correlation):
    """Within 4.5 Monte Carlo errors in 3 x 3 comparisons: 6e-5. The key is fixed."""
    rng, runs = np.random.default_rng(0), 200_000
    total, time = np.zeros(runs), 0.0
    for half, fine, coarse, weight in walked(
        alpha, correlation, rng.normal(size=runs), lambda _: rng.normal(size=(3, runs))
    ):
        total += weight * (half**2 + fine**2 - coarse**2 - 1)
        time += weight
    seen = moments(total / time)
    found = law(FIRST, np.array([alpha]), COUNT, np.array([correlation]))
    for name in ("bias", "variance", "skewness"):
        away = seen[name] - getattr(found, name)[0]
        assert abs(away) < 4.5 * seen[f"{name}_error"], name


def test_errors_of_moments_are_those_over_repetitions():
    """Of gamma variables, 400 times 1,000. A standard deviation of 400 numbers has a relative
    error of 1 / sqrt(800). Three comparisons at 4.5 such errors: 2e-5; the seed is fixed."""
    values = np.random.default_rng(1).gamma(20.0, size=(400, 1_000))
    seen = [moments(row) for row in values]
    for name in ("bias", "variance", "skewness"):
        spread = np.std([row[name] for row in seen], ddof=1)
        stated = np.mean([row[f"{name}_error"] for row in seen])
        assert abs(stated / spread - 1) < 4.5 / np.sqrt(800), name


LIMITS = [
    ("regime a: mean and skewness vanish", "skewness_exact", 0.3333, lambda k: k**0.2),
    ("regime b: the mean tends to κ μ", "bias_exact", 0.2, lambda _: 1.5),
    ("regime c: the estimate's error", "variance_exact", 0.1, lambda k: k**0.5),
]


@pytest.mark.parametrize(("claim", "column", "alpha", "factor"), LIMITS)
def test_another_law_would_have_another_limit(claim, column, alpha, factor):
    """Nothing is measured there: the verdict follows from the exact values."""

    def verdict(rows):
        (found,) = (f for f in findings(rows) if f.claim.startswith(claim))
        return found.verdict

    rows = load("p003_claim_clt")
    assert verdict(rows) is Verdict.HOLDS
    for row in select(rows, alpha=alpha):
        row[column] *= factor(row["K"])
    assert verdict(rows) is Verdict.FAILS
