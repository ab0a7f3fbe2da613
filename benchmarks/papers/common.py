"""What every figure's script shares: findings, tables, slopes, the command line."""

import argparse
import csv
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

OUTPUT = Path(__file__).parent / "output"
Z = 4.0
"""Largest deviation from an exact law, in Monte Carlo standard errors: 6e-5 a comparison."""

Row = dict[str, Any]


class Finding(NamedTuple):
    """A claim of a paper, what was measured, and what holds exactly.

    Attributes:
        claim: the paper's.
        measured: our figure.
        exact: the exact law's figure.
        holds: whether the exact law bears the claim out.
        sound: whether the measurement agrees with the exact law, within `Z` standard errors.
    """

    claim: str
    measured: str
    exact: str
    holds: bool
    sound: bool

    def __str__(self) -> str:
        """Return the line that is printed."""
        verdict = "agrees" if self.holds else "DISAGREES with the paper"
        if not self.sound:
            verdict += ", but our measurement is off the exact law"
        return f"{self.claim} | measured {self.measured} | exact {self.exact} | {verdict}"


def mean_and_error(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard error over independent chains, the first axis."""
    return values.mean(0), values.std(0, ddof=1) / np.sqrt(len(values))


def slope(x: np.ndarray, y: np.ndarray, error: np.ndarray) -> tuple[float, float]:
    """Return the slope of log y on log x by weighted least squares, and its standard error."""
    lx, ly = np.log(x), np.log(np.abs(y))
    weight = (np.abs(y) / np.maximum(error, 1e-12 * np.abs(y))) ** 2
    centred = lx - np.average(lx, weights=weight)
    information = np.sum(weight * centred**2)
    return float(np.sum(weight * centred * ly) / information), float(information**-0.5)


def worst_score(rows: Sequence[Row]) -> float:
    """Return the largest |measured - exact| in standard errors."""
    return max(abs(row["measured"] - row["exact"]) / row["error"] for row in rows)


def select(rows: Sequence[Row], **wanted: Any) -> list[Row]:
    """Return the rows that have these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def column(rows: Sequence[Row], name: str) -> np.ndarray:
    """Return one column."""
    return np.array([row[name] for row in rows])


def save(name: str, rows: Sequence[Row], figure: Any) -> None:
    """Write the table and the picture."""
    OUTPUT.mkdir(exist_ok=True)
    with (OUTPUT / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    figure.savefig(OUTPUT / f"{name}.png", dpi=100, metadata={"Software": None})
    plt.close(figure)


def load(name: str) -> list[Row]:
    """Return the rows of a table that was written."""

    def parsed(text: str) -> int | float | str:
        for kind in (int, float):
            with suppress(ValueError):
                return kind(text)
        return text

    with (OUTPUT / f"{name}.csv").open(newline="") as file:
        return [{key: parsed(text) for key, text in row.items()} for row in csv.DictReader(file)]


def run(module: ModuleType, options: argparse.Namespace) -> list[Finding]:
    """Measure a figure or load it, write it unless it is a quick one, print its findings."""
    # Run as a script, the module's name says nothing.
    name = Path(str(module.__file__)).stem
    begin = time.perf_counter()
    rows = load(name) if options.redraw else module.measure(options.quick)
    findings = module.findings(rows)
    if not options.quick:
        save(name, rows, module.draw(rows))
    print(f"{name} ({time.perf_counter() - begin:.0f} s)", flush=True)
    for finding in findings:
        print(f"  {finding}", flush=True)
    return findings


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return the command line's options."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--quick", action="store_true", help="few runs, nothing written")
    options.add_argument("--redraw", action="store_true", help="from the tables, no runs")
    return options


def main(module: ModuleType) -> None:
    """Run one figure from the command line."""
    run(module, parser(module.__doc__).parse_args())
