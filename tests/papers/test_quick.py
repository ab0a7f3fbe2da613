"""Each figure of `benchmarks/papers` in its quick form, against its own exact values.

A figure's findings compare what was measured with the exact value at `benchmarks.papers.finding.Z`
= 4 Monte Carlo standard errors, over independent chains: 6e-5 for each of about 200 comparisons.
Keys are fixed.
"""

import pytest

from benchmarks.papers.__main__ import FIGURES
from tests.marks import rarely
from tests.papers.figures import module_of, off, undetected

PARTS = sorted({"_".join(name.split("_")[:2]).rstrip("0123456789") for name in FIGURES})
"""The figures of a paper, p000_figure, and its claims, p000_claim."""


def test_every_figure_is_found():
    assert len(FIGURES) == 26


# A paper's figures share compiled programs, so they are one test.
@pytest.mark.papers
@pytest.mark.parametrize("part", rarely(PARTS, [part for part in PARTS if "figure" in part]))
def test_figures_agree_with_their_exact_values_and_would_not_if_ten_times_too_large(part):
    for name in FIGURES:
        if name.startswith(part):
            module = module_of(name)
            rows = module.measure(quick=True)
            assert [f for f in module.findings(rows) if f.score is not None], name
            assert not off(module, rows), name
            assert not undetected(module, rows), name
