"""Run every figure in one process: `python -m benchmarks.papers [--quick] [part of a name]`."""

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.papers.common import run

FIGURES = sorted(path.stem for path in Path(__file__).parent.glob("p*_figure*.py"))


def main() -> None:
    """Run them all, or those whose names contain the words given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few runs, nothing written")
    parser.add_argument("names", nargs="*", help="parts of the names of the figures wanted")
    options = parser.parse_args()
    for name in FIGURES:
        if not options.names or any(part in name for part in options.names):
            run(import_module(f"benchmarks.papers.{name}"), options.quick)


if __name__ == "__main__":
    main()
