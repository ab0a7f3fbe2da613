"""Verdicts follow from numbers, and each of the three can come out."""

import numpy as np
import pytest

from benchmarks.papers import criteria
from benchmarks.papers.finding import Finding, Verdict

HOLDS, FAILS, OPEN = Verdict.HOLDS, Verdict.FAILS, Verdict.OPEN


@pytest.mark.parametrize(
    ("slope", "error", "verdict"),
    [
        (2.0, 0.1, HOLDS),
        (2.3, 0.04, HOLDS),
        (2.3, 0.1, OPEN),
        (2.53, 0.1, OPEN),
        (2.0, 0.3, OPEN),
        (1.0, 0.1, FAILS),
        (4.1, 0.22, FAILS),
        (1.4, 0.2, OPEN),
        (float("nan"), 0.1, OPEN),
    ],
)
def test_order(slope, error, verdict):
    assert criteria.order(2, slope, error) is verdict


@pytest.mark.parametrize(
    ("slope", "error", "verdict"),
    [
        (-0.8, 0.05, HOLDS),
        (-1.0, 0.05, HOLDS),
        (-0.5, 0.05, FAILS),
        (-0.7, 0.05, OPEN),
        (-0.8, 0.2, OPEN),
    ],
)
def test_rate(slope, error, verdict):
    assert criteria.rate(-0.8, -0.6, slope, error) is verdict


@pytest.mark.parametrize(
    ("value", "error", "verdict"), [(1.5, 0.1, HOLDS), (1.5, 0.2, OPEN), (0.5, 0.1, FAILS)]
)
def test_above_and_below(value, error, verdict):
    assert criteria.above(value, error, 1.0) is verdict
    assert criteria.below(-value, error, -1.0) is verdict


@pytest.mark.parametrize(
    ("value", "error", "verdict"),
    [(1.0, 0.1, HOLDS), (1.0, 0.2, OPEN), (3.0, 0.2, FAILS), (-1.0, 0.2, FAILS)],
)
def test_inside(value, error, verdict):
    assert criteria.inside(value, error, 0.5, 2.0) is verdict


@pytest.mark.parametrize(("errors", "verdict"), [((0.1, 0.1, 0.1), HOLDS), ((1.0, 1.0, 0.1), OPEN)])
def test_the_least_of_several(errors, verdict):
    ties = criteria.tied(np.array([1.0, 2.0, 9.0]), np.array(errors))
    assert criteria.least(ties, np.array([True, False, False])) is verdict
    assert criteria.least(ties, np.array([False, False, True])) is FAILS


def test_ratio_against_its_simulation():
    rng = np.random.default_rng(0)
    draws = rng.normal(2.0, 0.02, 100_000) / rng.normal(4.0, 0.08, 100_000)
    value, error = criteria.ratio(-2.0, 0.02, 4.0, 0.08)
    assert value == 0.5
    # Relative: 4 errors of a standard deviation of 1e5 draws, and the terms of second order.
    assert abs(error / draws.std() - 1) < 4 / np.sqrt(2e5) + 0.02**2


def test_a_measurement_that_is_off_shows_nothing():
    finding = Finding("c", "m", "e", HOLDS, 3.9)
    assert finding.verdict is HOLDS
    assert finding._replace(score=4.1).verdict is FAILS
    assert finding._replace(score=float("nan")).verdict is FAILS
    assert finding._replace(score=None).verdict is HOLDS
