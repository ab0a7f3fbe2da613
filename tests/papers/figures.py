"""What the tests of the papers' figures share."""

from importlib import import_module
from types import ModuleType

from benchmarks.papers.common import Row
from benchmarks.papers.finding import Verdict


def module_of(name: str) -> ModuleType:
    """Return a figure's module."""
    return import_module(f"benchmarks.papers.{name}")


def off(module: ModuleType, rows: list[Row]) -> list[str]:
    """Return the findings whose measurement deviates from its exact value."""
    return [str(f) for f in module.findings(rows) if f.check is Verdict.FAILS]


def undetected(module: ModuleType, rows: list[Row], factor: float = 10.0) -> list[str]:
    """Return the findings of a run that pass when all that was measured is multiplied."""
    wrong = [{**row, **{name: factor * row[name] for name in module.MEASURED}} for row in rows]
    return [
        str(finding)
        for finding in module.findings(wrong)
        if finding.score is not None and finding.verdict is not Verdict.FAILS
    ]
