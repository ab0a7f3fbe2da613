"""Runs whose memory or compilation is measured, each in a fresh process."""

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any


def answer(module: str, *words: str, environment: Mapping[str, str], limit: float = 300.0) -> Any:
    """Return what `python -m benchmarks.speed.MODULE WORDS` prints last, read as JSON.

    Its standard error, to which progress bars are written, goes to a pipe.
    """
    command = [sys.executable, "-m", f"benchmarks.speed.{module}", *words]
    done = subprocess.run(
        command, env=dict(environment), capture_output=True, text=True, timeout=limit
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        raise RuntimeError(f"{module} ended with status {done.returncode}: {lines[-1]}")
    return json.loads(done.stdout.strip().splitlines()[-1])
