"""A figure's own process: measures its parts, writes its file, prints its line."""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.speed.figures import FIGURES
from benchmarks.speed.machine import described
from benchmarks.speed.parts import FAILED, Part, line, outcome

RESULTS = Path(__file__).parents[1] / "results" / "speed"
ROUNDS = 5
REMEDY = {"JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS": "1"}
"""Keeps JAX from compiling into a program the data that a model closes over; read on its import."""


def path_of(name: str) -> Path:
    """Return where a figure's file is."""
    return RESULTS / f"{name}.json"


def fields(name: str, outcomes: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Return what a figure's file holds."""
    figure = FIGURES[name]
    return {"number": figure.number, "title": figure.title, "parts": outcomes, **more}


def write(name: str, found: dict[str, Any]) -> None:
    """Write a figure's file."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path_of(name).write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", "utf-8")


def environment() -> dict[str, str]:
    """Return this process's environment with the remedy; without CI, where NumPyro shows no bar."""
    return {key: value for key, value in os.environ.items() if key != "CI"} | REMEDY


def run(name: str, parts: Sequence[Part], rounds: int = ROUNDS) -> None:
    """Measure a figure; the exit status says whether all of its parts could be.

    Starts anew where the environment is not as it should be.

    Args:
        name: of the figure's module.
        parts: are measured in turn.
        rounds: where the command line names none.
    """
    if environment() != dict(os.environ):
        command = [sys.executable, "-m", f"benchmarks.speed.{name}", *sys.argv[1:]]
        os.execve(sys.executable, command, environment())
    parser = argparse.ArgumentParser(description=FIGURES[name].title)
    parser.add_argument("--rounds", type=int, default=rounds)
    rounds = parser.parse_args().rounds
    begin = time.perf_counter()
    outcomes = [outcome(part, rounds) for part in parts]
    took = round(time.perf_counter() - begin, 1)
    write(name, fields(name, outcomes, rounds=rounds, seconds=took, **described()))
    print(line(f"{FIGURES[name].number} {FIGURES[name].title}", outcomes), flush=True)
    sys.exit(any(part["status"] == FAILED for part in outcomes))
