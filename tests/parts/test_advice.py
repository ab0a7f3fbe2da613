"""Advice names what can be had: minibatches within the data, seconds, and other methods."""

import pytest

from numpyro_sgmcmc.preparation.advice import (
    duration,
    larger_minibatches,
    other_methods,
    passes_of,
)
from numpyro_sgmcmc.types import Plate


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (2.0, "minibatches of 200 of 1,000"),
        (2.001, "minibatches of 201 of 1,000"),
        (10.0, "all rows (no `subsample_size`)"),
        (1e9, "all rows (no `subsample_size`)"),
    ],
)
def test_minibatches_are_within_the_data(factor, words):
    assert larger_minibatches({"rows": Plate(1_000, 100)}, factor) == words


def test_of_several_plates_each_has_its_own_size():
    plates = {"users": Plate(50, 10), "films": Plate(1_000, 100)}
    assert larger_minibatches(plates, 6.0) == "minibatches of 50 of 50, 600 of 1,000"
    assert passes_of(300.0, plates) == pytest.approx(60)


def test_other_methods_are_named_where_a_draw_takes_many_passes():
    assert passes_of(13_160, {"rows": Plate(5_000, 500)}) == pytest.approx(1_316)
    assert "1,316 passes" in other_methods(1_316.0)
    assert "numpyro.infer.NUTS" in other_methods(passes_of(101.0, {}))
    assert other_methods(100.0) == other_methods(float("nan")) == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0123, "12 ms"),
        (0.904, "900 ms"),
        (1.26, "1.3 s"),
        (119.0, "120 s"),
        (121.0, "2 min"),
        (7_000.0, "120 min"),
        (36_000.0, "10 h"),
    ],
)
def test_durations(seconds, words):
    assert duration(seconds) == words
