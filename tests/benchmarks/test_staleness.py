"""The table of what workers gain, against another recursion and beside the how-to's copy."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.staleness.gains import BIAS, FRICTION, NOISE, VARYING, step_size, transitions
from benchmarks.staleness.protocol import MAX_STALENESS, TRANSITIONS, seen, slowest
from benchmarks.staleness.table import WAYS, WORKERS, gains
from numpyro_sgmcmc import AsyncMCMC
from tests.oracles import stale
from tests.oracles.recursion import DYNAMICS

PAGE = Path(__file__).parents[2] / "docs" / "howto.md"


def autocovariances(h, age, damping=0.0):
    """Return the variance of z and the sum of all autocovariances, by the oracle's recursion."""
    total = FRICTION + h * damping
    recursion = DYNAMICS["splitting"](h, np.eye(1), total)
    heat = recursion.heat[:, 0] * np.sqrt(FRICTION / total)
    a = stale.matrix(recursion, 1.0, age, age, 0.0)
    load = np.zeros((2, len(a)))
    load[0, :2], load[1, :2] = np.sqrt(h) * heat, np.sqrt(NOISE) * recursion.kick[:, 0]
    identity = np.eye(len(a) ** 2)
    second = np.linalg.solve(identity - np.kron(a, a), (load.T @ load).ravel()).reshape(a.shape)
    later = np.linalg.solve(np.eye(len(a)) - a, second)[0, 0]
    return second[0, 0], 2 * later - second[0, 0]


@pytest.mark.parametrize(("remedy", "damping"), [(None, 0.0), ("friction", 3.0)])
def test_steps_and_times_are_those_of_the_recursion(remedy, damping):
    """The recursion's matrices are in single precision: 1e-7 over the distance of 1e-2 to 1."""
    ages = np.full(1, 3)
    h = step_size(NOISE, ages, remedy)
    variance, summed = autocovariances(h, 3, damping)
    assert variance == pytest.approx(1 + BIAS, abs=1e-4)
    assert transitions(NOISE, ages, remedy) == pytest.approx(summed, rel=1e-4)


@pytest.mark.parametrize("workers", [2, 8])
def test_equal_times_give_equal_ages(workers):
    ages, seconds = seen(workers, 0.0)
    assert set(ages.tolist()) == {workers - 1}
    assert seconds == pytest.approx(1 / workers, rel=1e-3)
    assert slowest(workers, 0.0) == 1


def test_times_that_vary():
    """The rate is that of workers who never wait, but for the bound and 4 standard errors."""
    assert slowest(2, 1.0) == 1.5
    ages, seconds = seen(4, VARYING)
    error = VARYING / np.sqrt(TRANSITIONS)
    assert 1 - 4 * error < 4 * seconds < 1 + 4 * error
    assert ages.max() <= MAX_STALENESS and ages.mean() > 3


def test_the_bound_is_the_default():
    default = inspect.signature(AsyncMCMC).parameters["max_staleness"].default
    assert default == MAX_STALENESS


def on_the_page(name):
    rows = re.findall(r"^\| " + re.escape(name) + r" \|(.*)\|$", PAGE.read_text(), re.MULTILINE)
    assert len(rows) == 1
    return [float(entry) for entry in rows[0].split("|")]


@pytest.mark.parametrize("name", WAYS)
def test_the_page_has_the_gain_of_four_workers_with_equal_times(name):
    assert on_the_page(name)[WORKERS.index(4)] == pytest.approx(WAYS[name](4, 0.0), abs=0.051)


@pytest.mark.long
@pytest.mark.parametrize("name", WAYS)
def test_the_page_has_these_numbers(name):
    np.testing.assert_allclose(on_the_page(name), gains(name), rtol=0, atol=0.051)
