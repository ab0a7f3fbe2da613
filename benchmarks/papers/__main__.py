"""Run figures and claims in one process: `python -m benchmarks.papers [--quick] [names]`."""

from importlib import import_module
from pathlib import Path

from benchmarks.papers.command import parser, run

KINDS = ("figure*", "claim_*")
FIGURES = sorted(
    path.stem for kind in KINDS for path in Path(__file__).parent.glob(f"p*_{kind}.py")
)


def main() -> None:
    """Run them all, or those whose names contain the words given."""
    words = parser(__doc__)
    words.add_argument("names", nargs="*", help="parts of the names of those wanted")
    options = words.parse_args()
    for name in FIGURES:
        if not options.names or any(part in name for part in options.names):
            run(import_module(f"benchmarks.papers.{name}"), options)


if __name__ == "__main__":
    main()
