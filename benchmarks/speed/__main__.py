"""Measure all figures, or those named: `python -m benchmarks.speed [NAME ...]`.

Each runs in a process of its own, so that memory and compilations are its own too. Prints one line
a figure and the table; writes `benchmarks/results/speed.md`, one file a figure under
`benchmarks/results/speed/`, and the table in `benchmarks/README.md`. Figures that are not named
keep their rows.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.speed.figures import FIGURES
from benchmarks.speed.machine import described
from benchmarks.speed.parts import FAILED
from benchmarks.speed.report import RESULTS, environment, fields, path_of, write
from benchmarks.speed.table import page, placed

README = Path(__file__).parents[1] / "README.md"
LIMIT = 900
"""Seconds after which a figure has failed."""


def measure(name: str, options: list[str]) -> bool:
    """Run a figure in a fresh process; return whether it succeeded."""
    path_of(name).unlink(missing_ok=True)
    command = [sys.executable, "-m", f"benchmarks.speed.{name}", *options]
    try:
        done = subprocess.run(
            command, env=environment(), stderr=subprocess.PIPE, text=True, timeout=LIMIT
        )
    except subprocess.TimeoutExpired:
        return _failed(name, f"took longer than {LIMIT} s")
    if done.returncode:
        print(done.stderr, file=sys.stderr, flush=True)
    if not path_of(name).exists():
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        return _failed(name, lines[-1])
    return done.returncode == 0


def _failed(name: str, note: str) -> bool:
    title = FIGURES[name].title
    part = {"what": title, "bar": "", "status": FAILED, "value": None, "shown": "", "note": note}
    write(name, fields(name, [part], **described()))
    print(f"{FIGURES[name].number} {title}: {FAILED} ({note})", flush=True)
    return False


def publish() -> str:
    """Write the table's two places and return it."""
    paths = [path_of(name) for name in FIGURES if path_of(name).exists()]
    content = page(json.loads(path.read_text("utf-8")) for path in paths)
    RESULTS.with_suffix(".md").write_text(content, "utf-8")
    README.write_text(placed(README.read_text("utf-8"), content), "utf-8")
    return content


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(FIGURES)}")
    parser.add_argument("--rounds", help="fewer or more than each figure's own")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(FIGURES):
        parser.error(f"expected names of {', '.join(FIGURES)}; got {', '.join(sorted(unknown))}")
    options = [] if arguments.rounds is None else ["--rounds", arguments.rounds]
    names = [name for name in FIGURES if name in arguments.names or not arguments.names]
    begin = time.perf_counter()
    succeeded = []
    for place, name in enumerate(names, 1):
        elapsed = time.perf_counter() - begin
        print(f"[{place}/{len(names)}, {elapsed:.0f} s] {name}", flush=True)
        succeeded.append(measure(name, options))
    print(f"{publish()}\n{time.perf_counter() - begin:.0f} s")
    sys.exit(not all(succeeded))


if __name__ == "__main__":
    main()
