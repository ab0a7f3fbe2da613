"""Each figure of `benchmarks/papers` in its quick form, against its own exact law.

A figure's findings compare what was measured with the exact law at `benchmarks.papers.common.Z` = 4
Monte Carlo standard errors, over independent chains: 6e-5 for each of about 70 comparisons. Keys
are fixed.
"""

from importlib import import_module

import pytest

from benchmarks.papers.__main__ import FIGURES


def test_every_figure_is_found():
    assert len(FIGURES) == 11


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_figure_agrees_with_its_exact_law(name):
    module = import_module(f"benchmarks.papers.{name}")
    findings = module.findings(module.measure(quick=True))
    assert findings
    off = [str(finding) for finding in findings if not finding.sound]
    assert not off, "\n".join(off)
