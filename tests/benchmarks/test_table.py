"""Parts of the speed figures: what is decided of them, their files and the table."""

import json

import pytest

from benchmarks.speed.figures import FIGURES
from benchmarks.speed.machine import described
from benchmarks.speed.parts import Measured, NotMeasured, Part, line, outcome
from benchmarks.speed.ratios import Bar
from benchmarks.speed.report import fields
from benchmarks.speed.table import BEGIN, END, page, placed, table


def part(measure, reason=""):
    return Part("a step", Bar(1.1), measure, reason)


def fast(rounds):
    return Measured(1.0, "1 against 1 µs", {"rounds": rounds})


def slow(rounds):
    return Measured(1.5, "3 against 2 µs", {})


def broken(rounds):
    raise TypeError("no such | option")


def absent(rounds):
    raise NotMeasured("not installed")


@pytest.mark.parametrize(
    ("measure", "status", "note"),
    [
        (fast, "met", ""),
        (slow, "missed", "a gather"),
        (broken, "failed", "TypeError: no such | option"),
        (absent, "not measured", "not installed"),
    ],
)
def test_a_part_is_met_missed_failed_or_not_measured(measure, status, note, capsys):
    found = outcome(part(measure, "a gather"), 5)
    assert (found["status"], found["note"]) == (status, note)
    assert ("Traceback" in capsys.readouterr().err) == (status == "failed")


def test_wrong_moments_miss_a_bar_whatever_the_number():
    found = outcome(part(lambda rounds: Measured(1.0, "", {}, "sds 9 % off"), "a gather"), 5)
    assert (found["status"], found["note"]) == ("missed", "sds 9 % off")


def test_a_figure_prints_one_line():
    printed = line("1 step", [outcome(part(fast), 5), outcome(part(absent), 5)])
    assert printed == "1 step: a step: 1 x (≤ 1.1 x, met); a step: not measured (not installed)"


def test_a_file_says_where_and_when():
    found = fields("step_langevin", [outcome(part(fast), 5)], rounds=5, **described())
    found = json.loads(json.dumps(found))
    assert {"number", "title", "parts", "rounds", "date", "device", "cores", "versions"} <= set(
        found
    )
    assert {"jax", "numpyro", "python"} <= set(found["versions"])
    assert found["parts"][0]["details"] == {"rounds": 5}


def figure(name, *measures):
    return fields(name, [outcome(part(one, "a gather"), 5) for one in measures], **described())


def test_the_table_is_ordered_and_says_why_a_bar_is_missed():
    found = table([figure("step_others", slow, broken), figure("step_langevin", fast)])
    assert found.splitlines()[2:] == [
        "| 1 | a step | ≤ 1.1 x | 1 x (1 against 1 µs) | met |",
        "| 2 | a step | ≤ 1.1 x | 1.5 x (3 against 2 µs) | **missed**: a gather |",
        r"| 2 | a step | ≤ 1.1 x |  | **failed**: TypeError: no such \| option |",
    ]


def test_the_caption_tells_days_and_machines_apart():
    here, there = figure("step_langevin", fast), figure("step_others", fast)
    assert page([here, there]).count("Measured") == 1
    both = page([here, there | {"date": "2000-01-01"}])
    assert "(figures 1)" in both
    assert "2000-01-01" in both


def test_the_table_has_its_place_between_two_markers():
    text = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert placed(text, "new\n") == f"before\n{BEGIN}\nnew\n{END}\nafter\n"
    with pytest.raises(ValueError, match="speed: end"):
        placed("before", "new")


def test_figures_are_numbered_in_order():
    assert [figure.number for figure in FIGURES.values()] == list(range(1, 13))
