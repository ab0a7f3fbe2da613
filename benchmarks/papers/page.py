"""The parts of `docs/papers.md` that are made from the tables."""

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from benchmarks.papers.common import Row

PAGE = Path(__file__).parents[2] / "docs" / "papers.md"
HEADER = (
    "| claim of the paper | measured | exact | deviation | verdict |",
    "|---|---|---|---|---|",
)


def part(name: str, module: ModuleType, rows: Sequence[Row]) -> str:
    """Return a figure's part of the page: picture, what was run, findings, remarks."""
    table = [
        f"| {f.claim} | {f.measured} | {f.exact} | {f.deviation} | {f.verdict} |"
        for f in module.findings(rows)
    ]
    lines = [
        f"![{module.TITLE}](../benchmarks/papers/output/{name}.png)",
        "",
        *module.setting(rows),
        "",
        *HEADER,
        *table,
    ]
    remarks = [f"- {remark}" for remark in module.remarks(rows)]
    return "\n".join([*lines, "", *remarks] if remarks else lines)


def between(page: str, name: str) -> tuple[str, str, str]:
    """Return what stands before a figure's part, the part, and what stands after it."""
    before, begin, rest = page.partition(f"<!-- {name}: begin -->\n")
    inner, end, after = rest.partition(f"\n<!-- {name}: end -->")
    if not (begin and end):
        raise ValueError(f"Expected the marks of {name} in {PAGE.name}; add them.")
    return before + begin, inner, end + after


def update(name: str, module: ModuleType, rows: Sequence[Row]) -> None:
    """Write a figure's part of the page."""
    before, _, after = between(PAGE.read_text("utf-8"), name)
    PAGE.write_text(before + part(name, module, rows) + after, "utf-8")
