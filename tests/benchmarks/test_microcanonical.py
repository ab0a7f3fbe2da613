"""The search for the best settings of two dynamics, and what its table decides."""

import numpy as np
import pytest

from benchmarks.microcanonical.climb import Setting, climbed
from benchmarks.microcanonical.page import COARSE, FINE, PAGE, TABLE, Run, load, page, save, verdict


def run_of(dynamics, median_ess, right="yes", model="films"):
    return Run(model, dynamics, "adapted", 0.1, 1.0, 0.001, 0.0005, median_ess, 1.0, 1.01, right)


@pytest.mark.parametrize(
    ("ess", "said"),
    [(14.5, "microcanonical dynamics win"), (6.9, "splitting wins"), (14.0, "neither wins")],
)
def test_the_verdict_follows_from_the_best_right_settings(ess, said):
    """A wrong setting with more effective draws decides nothing."""
    runs = [
        run_of("splitting", 10.0),
        run_of("splitting", 90.0, "no"),
        run_of("microcanonical", ess),
        run_of("microcanonical", ess / 2),
        run_of("microcanonical", 99.0, model="digits"),
    ]
    assert said in verdict(runs, "films")
    assert "alone has a right setting" in verdict(runs, "digits")
    assert "none is right" in verdict([run_of("splitting", 1.0, "no")], "films")


@pytest.mark.parametrize(
    ("ess", "error", "said"),
    [
        (14.0, 0.2, "microcanonical dynamics win"),
        (14.0, 1.5, "neither wins by more than the 1.19"),
        (11.5, 0.01, "neither wins by more than the 1.19"),
        (7.0, 0.2, "splitting wins"),
    ],
)
def test_runs_with_several_keys_decide_alone_and_by_more_than_their_errors(ess, error, said):
    runs = [
        run_of("splitting", 10.0)._replace(keys=3, error=0.1),
        run_of("microcanonical", ess)._replace(keys=3, error=error),
        run_of("splitting", 50.0),
        run_of("microcanonical", 5.0),
    ]
    assert said in verdict(runs, "films")


def worth_at(h, friction):
    """Largest at h = 1 and D = 4, and wrong where h exceeds a quarter of D."""
    away = np.log(h) ** 2 + np.log(friction / 4) ** 2
    right = "yes" if h <= 0.26 * friction else "no"
    return run_of("splitting", float(np.exp(-away)), right)._replace(h=h, friction=friction)


def test_a_climb_ends_where_no_neighbour_is_better_and_runs_nothing_twice():
    asked = []

    def run(setting):
        asked.append((round(np.log2(setting.h), 3), round(np.log2(setting.friction), 3)))
        return worth_at(*setting)

    found = climbed([Setting(1 / 8, 1.0), Setting(1 / 8, 16.0)], COARSE, run)
    assert len(found) == len(asked) == len(set(asked))
    best = max((r for r in found if r.right == "yes"), key=lambda r: r.median_ess)
    np.testing.assert_allclose((best.h, best.friction), (1.0, 4.0), rtol=1e-6)
    around = {(i, 2.0 + j) for i in (-0.5, 0.0, 0.5) for j in (-0.5, 0.0, 0.5)}
    assert around <= set(asked)


def test_nothing_is_climbed_from_settings_that_are_wrong():
    settings = [Setting(8.0, 1.0), Setting(4.0, 1.0)]
    assert len(climbed(settings, FINE, lambda setting: worth_at(*setting))) == len(settings)


def test_the_page_is_made_from_the_table(tmp_path):
    assert PAGE.read_text("utf-8") == page(load())
    save(load(), tmp_path / "table.csv", tmp_path / "page.md")
    assert (tmp_path / "table.csv").read_text("utf-8") == TABLE.read_text("utf-8")
    assert (tmp_path / "page.md").read_text("utf-8") == PAGE.read_text("utf-8")
