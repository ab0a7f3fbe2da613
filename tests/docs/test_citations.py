"""Papers are cited by authors and year, which readers can look up."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = [
    *ROOT.glob("numpyro_sgmcmc/**/*.py"),
    *ROOT.glob("examples/*.py"),
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/**/*.md"),
]
NOT_PROSE = {"_build", "papers.md"}  # built pages, and the one whose headings are those numbers
PROSE = [path for path in FILES if not NOT_PROSE & set(path.parts)]
INTERNAL = re.compile(r"papers?/0\d\d|\band 00\d\b")


def test_no_paper_is_cited_by_a_number_of_ours():
    found = {str(p.relative_to(ROOT)): INTERNAL.findall(p.read_text("utf-8")) for p in PROSE}
    assert {path: citations for path, citations in found.items() if citations} == {}
