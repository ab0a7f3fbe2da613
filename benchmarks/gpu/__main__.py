"""All sections on a GPU, one after another, each in a process of its own, and their page."""

import argparse
import os
import subprocess
import sys

from benchmarks.gpu.page import RESULTS, page

LIMIT = 900
"""Seconds after which a section has failed."""
NAMES = ("precision", "network", "steps", "replacements")


def main() -> None:
    """Measure, and write the page."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    chosen = words.parse_args().names or NAMES
    if unknown := set(chosen) - set(NAMES):
        words.error(f"expected names of {', '.join(NAMES)}; got {', '.join(sorted(unknown))}")
    RESULTS.mkdir(exist_ok=True)
    environment = os.environ | {"JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": "1"}
    failed = [name for name in chosen if not _is_measured(name, environment)]
    RESULTS.with_suffix(".md").write_text(page(), "utf-8")
    sys.exit(f"Not measured: {', '.join(failed)}." if failed else 0)


def _is_measured(name: str, environment: dict[str, str]) -> bool:
    command = [sys.executable, "-m", "benchmarks.gpu.section", name, "--output", str(RESULTS)]
    try:
        return subprocess.run(command, env=environment, timeout=LIMIT).returncode == 0
    except subprocess.TimeoutExpired:
        return False


if __name__ == "__main__":
    main()
