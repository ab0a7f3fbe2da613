"""The page shows what the committed tables say: numbers, verdicts and what was run."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.papers.__main__ import FIGURES
from benchmarks.papers.common import OUTPUT, load
from benchmarks.papers.gaussian import RECURSIONS, UNIT, setting
from benchmarks.papers.page import PAGE, between, part
from tests.papers.figures import module_of, off, undetected


@pytest.mark.parametrize("name", FIGURES)
def test_a_figures_part_is_made_from_its_table(name):
    _, shown, _ = between(PAGE.read_text("utf-8"), name)
    assert shown == part(name, module_of(name), load(name))
    assert Path(OUTPUT / f"{name}.png").exists()


@pytest.mark.parametrize("name", FIGURES)
def test_committed_measurements_agree_and_would_not_if_ten_times_too_large(name):
    module, rows = module_of(name), load(name)
    assert not off(module, rows)
    assert not undetected(module, rows)
    assert not undetected(module, rows, 0.1)


@pytest.mark.parametrize("batch", [None, 10])
@pytest.mark.parametrize("h", [1e-3, 1e-2])
def test_the_pages_formula_for_semi_implicit_euler_is_exact(h, batch):
    post, friction = setting(), 30.0
    precision = 1 / post.variance
    noise = float(post.gradient_noise(batch).at_mode[0, 0])
    shrunk = 1 - h**2 * precision / (4 - 2 * friction * h)
    formula = (1 + h * noise / (2 * friction)) / (precision * shrunk)
    exact = post.stationary_variance(RECURSIONS["hamiltonian"](h, UNIT, friction), h, batch)
    np.testing.assert_allclose(formula, exact, rtol=1e-9)


def test_gradient_noise_is_what_the_page_says():
    post, h, friction = setting(), 1e-6, 30.0
    noise = float(post.gradient_noise(10).at_mode[0, 0])
    assert round(np.log10(noise)) == 5
    for name, slope in [("langevin", 0.5), *((k, 0.5 / friction) for k in list(RECURSIONS)[1:])]:
        build = RECURSIONS[name](h, UNIT, friction)
        ratio = (
            post.stationary_variance(build, h, 10) / post.stationary_variance(build, h, None) - 1
        )
        np.testing.assert_allclose(ratio, slope * h * noise, rtol=0.01)
