"""Each figure of `benchmarks/papers` in its quick form, against its own exact law.

A figure's findings compare what was measured with the exact law at `benchmarks.papers.common.Z` = 4
Monte Carlo standard errors, over independent chains: 6e-5 for each of about 70 comparisons. Keys
are fixed.
"""

from importlib import import_module

import pytest

from benchmarks.papers.__main__ import FIGURES

PAPERS = sorted({name.split("_")[0] for name in FIGURES})


def test_every_figure_is_found():
    assert len(FIGURES) == 11


# A paper's figures share compiled programs, so they are one test.
@pytest.mark.papers
@pytest.mark.parametrize("paper", PAPERS)
def test_figures_agree_with_their_exact_laws(paper):
    off = []
    for name in FIGURES:
        if name.startswith(paper):
            module = import_module(f"benchmarks.papers.{name}")
            findings = module.findings(module.measure(quick=True))
            assert findings, name
            off += [f"{name}: {finding}" for finding in findings if not finding.sound]
    assert not off, "\n".join(off)
