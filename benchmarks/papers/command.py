"""The command line of the figures: measure or load, write, print."""

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

from benchmarks.papers.common import Row, load, save
from benchmarks.papers.finding import Finding
from benchmarks.papers.page import update
from examples.idx import FASHION_MNIST


def run(
    module: ModuleType,
    options: argparse.Namespace,
    measure: Callable[[bool], list[Row]] | None = None,
) -> list[Finding]:
    """Measure a figure or load it, write it unless it is a quick one, print its findings.

    What is written is its table and its picture in `output/`, and its part of `docs/papers.md`.

    Args:
        module: of the figure.
        options: of the command line.
        measure: in place of the module's own function, with arguments that it has.
    """
    # Run as a script, the module's name says nothing.
    name = Path(str(module.__file__)).stem
    begin = time.perf_counter()
    rows = load(name) if options.redraw else (measure or module.measure)(options.quick)
    if not options.quick:
        save(name, rows, module.draw(rows))
        rows = load(name)  # the page is made from the table's digits
        update(name, module, rows)
    findings = module.findings(rows)
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


def main_with_clothes(module: ModuleType) -> None:
    """Run one figure whose data are Fashion-MNIST's files in a folder that can be given."""
    words = parser(module.__doc__)
    words.add_argument("--folder", type=Path, default=FASHION_MNIST, help="Fashion-MNIST's files")
    options = words.parse_args()
    run(module, options, partial(module.measure, folder=options.folder))
