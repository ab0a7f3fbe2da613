"""The table of all runs, the page that is made from it, and which dynamics wins per gradient."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).parents[1] / "results"
TABLE, PAGE = RESULTS / "microcanonical.csv", RESULTS / "microcanonical.md"

STEP = math.sqrt(2.0)
"""Factor between neighbouring values of h, and of D. Effective draws are about proportional to h,
so that a setting between two that were tried may have as many more."""


class Run(NamedTuple):
    """A run and what it was worth; `away` is the held-out log score minus that of NUTS."""

    model: str
    dynamics: str
    scale: str
    h: float
    friction: float
    away: float
    away_error: float
    median_ess: float
    smallest_ess: float
    largest_rhat: float
    right: str


HEADER = (
    "| model | dynamics | scale | h | D | held-out log score - NUTS's | median ESS for 1,000"
    " gradients | smallest ESS | largest R-hat | right |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
)


def line(run: Run) -> str:
    """Return a row of the page."""
    cells = (
        f"{run.model} | {run.dynamics} | {run.scale} | {run.h:.2g} | {run.friction:.2g} |"
        f" {run.away:+.4f} ± {run.away_error:.4f} | {run.median_ess:.2f} |"
        f" {run.smallest_ess:.2f} | {run.largest_rhat:.3f} | {run.right}"
    )
    return f"| {cells} |"


def best(runs: Sequence[Run], model: str, dynamics: str) -> Run | None:
    """Return the right run with the largest median ESS, or None where none is right."""
    mine = [r for r in runs if (r.model, r.dynamics, r.right) == (model, dynamics, "yes")]
    return max(mine, key=lambda run: run.median_ess, default=None)


def verdict(runs: Sequence[Run], model: str) -> str:
    """Return in words whether microcanonical dynamics win per gradient on a model."""
    ours, other = (best(runs, model, name) for name in ("splitting", "microcanonical"))
    if other is None or ours is None:
        right = [run.dynamics for run in (ours, other) if run is not None]
        return (
            f"{model}: {right[0]} alone has a right setting" if right else f"{model}: none is right"
        )
    ratio = other.median_ess / ours.median_ess
    if math.isfinite(ratio) and ratio > STEP:
        said = "microcanonical dynamics win per gradient"
    elif ratio < 1 / STEP:
        said = "splitting wins per gradient"
    else:
        said = f"neither wins by more than the {STEP:.2f} between neighbouring step sizes"
    return (
        f"{model}: {ratio:.2f} times the effective draws for a gradient that splitting has, each at"
        f" its best right setting ({other.median_ess:.2f} against {ours.median_ess:.2f} for 1,000"
        f" gradients): {said}"
    )


def page(runs: Sequence[Run]) -> str:
    """Return the page: what the runs decide, the best right settings, all settings."""
    models = list(dict.fromkeys(run.model for run in runs))
    chosen = [
        run
        for model in models
        for name in ("splitting", "microcanonical")
        if (run := best(runs, model, name)) is not None
    ]
    verdicts = "\n".join(f"- {verdict(runs, model)}." for model in models)
    return (
        f"Microcanonical dynamics beside splitting SGHMC:\n\n{verdicts}\n\nThe best of each that"
        f" is right:\n\n{HEADER}" + "\n".join(map(line, chosen)) + f"\n\nAll:\n\n{HEADER}"
        "" + "\n".join(map(line, runs)) + "\n"
    )


def load(path: Path = TABLE) -> list[Run]:
    """Return the runs of the table."""
    kinds = Run.__annotations__
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Run(**{name: kinds[name](text) for name, text in row.items()})
            for row in csv.DictReader(file)
        ]


def save(runs: Sequence[Run], table: Path = TABLE, shown: Path = PAGE) -> None:
    """Write the table, and the page from it."""
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Run._fields)
        for run in runs:
            writer.writerow([f"{v:.6g}" if isinstance(v, float) else v for v in run])
    shown.write_text(page(load(table)), encoding="utf-8")
