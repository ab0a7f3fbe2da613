"""The simulated clock of a server, and the exact covariances with the ages that it gives."""

import numpy as np
import pytest

from benchmarks.papers.p001_clock import SERVING, asynchronous, synchronous
from benchmarks.papers.p001_law import Recursion, of_averages

CURVATURE, NOISE = np.array([3.0, 40.0]), np.array([5.0, 70.0])
STEP_SIZE, FRICTION, COUNT, EVERY = 0.05, 2.0, 60, 3


def test_one_worker_has_fresh_gradients():
    clock = asynchronous(1, 50)
    assert not clock.ages.any()
    # Nothing overlaps: each transition takes a gradient's time, at least the constant half.
    assert np.diff(clock.times).min() > 0.5 + SERVING


@pytest.mark.parametrize("workers", [2, 4, 8])
def test_an_age_is_the_number_of_transitions_since_the_workers_last_one(workers):
    clock, last = asynchronous(workers, 400), dict.fromkeys(range(workers), -1)
    for step, worker in enumerate(clock.workers.tolist()):
        assert clock.ages[step] == step - last[worker] - 1
        last[worker] = step


def test_a_server_takes_one_gradient_at_a_time():
    assert np.diff(asynchronous(40, 2_000).times).min() >= SERVING * (1 - 1e-9)


def test_a_synchronous_transition_takes_the_time_of_the_slowest():
    """The mean of the largest of 4 is 0.5 + 0.5 (1 + 1/2 + 1/3 + 1/4); 4 errors, 6e-5."""
    count = 4_000
    each = np.diff(synchronous(4, count).times, prepend=0)
    expected = 0.5 + 0.5 * (1 + 1 / 2 + 1 / 3 + 1 / 4) + 4 * SERVING
    assert abs(each.mean() - expected) < 4 * each.std() / np.sqrt(count)


def by_response(known, damping, ages):
    """Return cov(x_k, x_l) from the responses to each independent source of noise."""
    found = []
    for place, curvature in enumerate(CURVATURE):
        c, b = (np.broadcast_to(each, 2)[place] for each in (known, damping))
        position, momentum = np.zeros((COUNT + 1, COUNT + 2)), np.zeros(COUNT + 2)
        position[0, 0], momentum[1] = curvature**-0.5, 1.0
        for step, age in enumerate(ages):
            then = position[step - min(age, step)]
            force = (curvature - c) * then + c * position[step]
            keep = 1 - FRICTION * STEP_SIZE - b * STEP_SIZE**2
            momentum = keep * momentum - STEP_SIZE * force
            momentum[2 + step] = np.sqrt(2 * FRICTION * STEP_SIZE + STEP_SIZE**2 * NOISE[place])
            position[step + 1] = position[step] + STEP_SIZE * momentum
        found.append((position @ position.T)[EVERY::EVERY, EVERY::EVERY])
    return np.stack(found, axis=-1)


@pytest.mark.parametrize(
    ("known", "damping"), [(0.0, 0.0), (np.array([2.0, 30.0]), 0.0), (0.0, 3 * CURVATURE)]
)
def test_covariances_with_given_ages_are_those_of_the_responses(known, damping):
    ages = asynchronous(4, COUNT).ages
    law = Recursion(CURVATURE, NOISE, STEP_SIZE, FRICTION, known, damping)
    expected = by_response(known, damping, ages)
    lower = np.tril(np.ones(expected.shape[:2]))[..., None]
    # Both are sums in double precision; covariances are at most 1 here.
    np.testing.assert_allclose(law.covariances(ages, EVERY), expected * lower, atol=1e-12)


def test_moments_of_averages_are_those_of_gaussian_draws():
    """Within 5 standard errors, at 2 x 20 numbers: 2e-5."""
    expected = by_response(0.0, 0.0, asynchronous(4, COUNT).ages)
    gradient, curvature = np.array([0.7, 0.2]), np.array([1.5, 20.0])
    rng, draws = np.random.default_rng(0), 20_000
    values = np.zeros((draws, len(expected)))
    for place in range(2):
        x = rng.multivariate_normal(np.zeros(len(expected)), expected[..., place], draws)
        values += gradient[place] * x + curvature[place] * x**2 / 2
    running = np.cumsum(values, axis=1) / np.arange(1, len(expected) + 1)
    mean, variance = of_averages(
        np.tril(np.ones(expected.shape[:2]))[..., None] * expected, gradient, curvature
    )
    error = running.std(0) / np.sqrt(draws)
    assert np.all(np.abs(running.mean(0) - mean) < 5 * error)
    squares = (running - running.mean(0)) ** 2
    error = squares.std(0) / np.sqrt(draws)
    assert np.all(np.abs(squares.mean(0) - variance) < 5 * error)
