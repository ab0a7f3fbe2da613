"""The table of all runs, the page that is made from it, and which dynamics wins per gradient."""

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).parents[1] / "results"
TABLE, PAGE = RESULTS / "microcanonical.csv", RESULTS / "microcanonical.md"

COARSE, FINE = 2**0.5, 2**0.25
"""Factors between neighbouring values of h, and of D, in the first search and in the second.
Effective draws are about proportional to h, so that a setting between two that were tried may have
as many more."""


class Run(NamedTuple):
    """What a setting was worth; `away` is the held-out log score minus that of NUTS.

    The second search runs a setting with several keys. Its effective sample sizes are means over
    them, `error` is the standard error of the median's, and the largest R-hat is that of all.
    """

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
    keys: int = 1
    error: float = math.nan


HEADER = (
    "| model | dynamics | scale | h | D | held-out log score - NUTS's | median ESS for 1,000"
    " gradients | smallest ESS | largest R-hat | right | keys |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
)


def line(run: Run) -> str:
    """Return a row of the page."""
    error = "" if math.isnan(run.error) else f" ± {run.error:.2f}"
    cells = (
        f"{run.model} | {run.dynamics} | {run.scale} | {run.h:.2g} | {run.friction:.2g} |"
        f" {run.away:+.4f} ± {run.away_error:.4f} | {run.median_ess:.2f}{error} |"
        f" {run.smallest_ess:.2f} | {run.largest_rhat:.3f} | {run.right} | {run.keys}"
    )
    return f"| {cells} |"


def deciding(runs: Sequence[Run], model: str) -> list[Run]:
    """Return a model's runs of the second search, or all where there was none."""
    mine = [run for run in runs if run.model == model]
    return [run for run in mine if run.keys > 1] or mine


def ranked(runs: Sequence[Run], model: str, dynamics: str) -> list[Run]:
    """Return the right runs that count, those with the largest median ESS first."""
    mine = [r for r in deciding(runs, model) if (r.dynamics, r.right) == (dynamics, "yes")]
    return sorted(mine, key=lambda run: -run.median_ess)


def best(runs: Sequence[Run], model: str, dynamics: str) -> Run | None:
    """Return the first of them, or None."""
    return next(iter(ranked(runs, model, dynamics)), None)


def verdict(runs: Sequence[Run], model: str) -> str:
    """Return in words whether microcanonical dynamics win per gradient on a model.

    One wins where the ratio of effective draws exceeds what lies between neighbouring settings by
    two standard errors, if runs with several keys have told these.
    """
    ours, other = (best(runs, model, name) for name in ("splitting", "microcanonical"))
    if other is None or ours is None:
        right = [run.dynamics for run in (ours, other) if run is not None]
        return (
            f"{model}: {right[0]} alone has a right setting" if right else f"{model}: none is right"
        )
    ratio = other.median_ess / ours.median_ess
    known = min(ours.keys, other.keys) > 1
    shares = [run.error / run.median_ess for run in (ours, other)]
    error = ratio * math.hypot(*shares) if known else 0.0
    limit = FINE if known else COARSE
    if ratio - 2 * error > limit:
        said = "microcanonical dynamics win per gradient"
    elif ratio + 2 * error < 1 / limit:
        said = "splitting wins per gradient"
    else:
        said = f"neither wins by more than the {limit:.2f} between neighbouring step sizes"
    shown = f"{ratio:.2f} ± {error:.2f}" if known else f"{ratio:.2f}"
    return (
        f"{model}: {shown} times the effective draws for a gradient that splitting has, each at"
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
