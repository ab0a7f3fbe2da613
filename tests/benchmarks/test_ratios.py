"""Arithmetic of the speed figures: ratios, bars, compilation taken off."""

import math

import pytest

from benchmarks.speed.ratios import Bar, median_ratio, medians, number, orders
from benchmarks.speed.timing import Side, Stretch, compilations, covered, seconds_a_step


def test_ratios_are_taken_round_by_round():
    assert median_ratio([2.0, 30.0, 4.0], [1.0, 10.0, 1.0]) == 3.0
    assert medians({"a": [3.0, 1.0, 2.0]}) == {"a": 2.0}


@pytest.mark.parametrize(
    ("bar", "met", "missed"),
    [(Bar(1.05), 1.05, 1.06), (Bar(4.0, at_least=True), 4.0, 3.9), (Bar(0.0, "programs"), 0, 1)],
)
def test_a_bar_is_met_at_its_limit(bar, met, missed):
    assert bar.is_met(met)
    assert not bar.is_met(missed)


@pytest.mark.parametrize("at_least", [True, False])
def test_no_number_meets_no_bar(at_least):
    assert not Bar(1.0, at_least=at_least).is_met(math.nan)


def test_numbers_and_bars_as_they_are_printed():
    assert [number(value) for value in (0.4321, 1.0, 12.34, 1234.5)] == [
        "0.432",
        "1",
        "12.3",
        "1,234",
    ]
    assert str(Bar(200.0, at_least=True)) == "≥ 200 x"
    assert str(Bar(3.0, "s")) == "≤ 3 s"


def test_sides_alternate():
    assert orders(["a", "b"], 3) == [["a", "b"], ["b", "a"], ["a", "b"]]


def test_stretches_that_overlap_count_once():
    stretches = [Stretch("", 1.0, 3.0), Stretch("", 2.0, 2.5), Stretch("", 5.0, 9.0)]
    assert covered(stretches, 0.0, 6.0) == pytest.approx(3.0)
    assert covered(stretches, 2.0, 4.0) == pytest.approx(1.0)
    assert covered([], 0.0, 1.0) == 0.0


def test_every_side_has_a_cost_in_every_round():
    calls = []
    sides = {
        name: Side(lambda: calls.append("short"), lambda: calls.append("long"), 10) for name in "ab"
    }
    costs = seconds_a_step(sides, 3)
    assert {name: len(rounds) for name, rounds in costs.items()} == {"a": 3, "b": 3}
    assert len(calls) == 2 * 2 * (1 + 3)


def test_compilations_are_counted():
    import jax

    double = jax.jit(lambda x: 2 * x + 1)
    x = jax.block_until_ready(jax.numpy.ones(7))
    assert compilations(lambda: double(x)) == 1
    assert compilations(lambda: double(x)) == 0
