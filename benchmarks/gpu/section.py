"""One section, in a process of its own: measures, and writes what it found as JSON."""

import argparse
import fcntl
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.gpu import films, lenet, network, precision, replacements, steps
from benchmarks.papers.p001_lenet_methods import METHODS
from benchmarks.papers.p003_films_table import LARGE, LARGEST, REAL
from benchmarks.speed.machine import described
from examples.idx import FASHION_MNIST

ROUNDS, LENET_SECONDS = 5, 6.0
FILMS = {"films": REAL, "films_large": LARGE, "films_largest": LARGEST}
TIMED = {"network": network, "replacements": replacements, "steps": steps}
LENET = ("lenet_costs", "lenet_train", "lenet")
BESIDE = ("precision", "lenet_train", "lenet")
"""Sections whose numbers do not depend on what else is computed."""
SECTIONS = (*TIMED, "precision", *FILMS, *LENET)


@contextmanager
def alone(lock: Path, waits: bool) -> Iterator[None]:
    """Wait until no other section measures, if `waits`."""
    with lock.open("w") as file:
        if waits:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def measured(name: str, options: argparse.Namespace) -> Any:
    """Return what a section found."""
    rounds = 1 if options.trial else ROUNDS
    if name in FILMS:
        return films.measured(FILMS[name], options.trial)
    if name == "lenet_costs":
        methods = [options.method] if options.method else list(lenet.CANDIDATES)
        return lenet.costs(options.folder, methods, 10 if options.trial else lenet.PACE_STEPS)
    if name == "lenet_train":
        return lenet.trained(options.method, options.folder, options.seconds, options.output)
    if name == "lenet":
        return lenet.together(options.folder, options.output)
    if name == "precision":
        return precision.measured()
    if name == "network":
        return network.measured(rounds, 1 if options.trial else network.DRAWS)
    return TIMED[name].measured(rounds)


def main() -> None:
    """Measure one section."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("name", choices=SECTIONS)
    words.add_argument("--method", choices=METHODS, help="of LeNet; costs of all if not given")
    words.add_argument("--trial", action="store_true", help="short, beside others, compiles")
    words.add_argument("--folder", type=Path, default=FASHION_MNIST, help="Fashion-MNIST's files")
    words.add_argument("--seconds", type=float, default=LENET_SECONDS, help="of LeNet's trainings")
    words.add_argument("--output", type=Path, required=True)
    options = words.parse_args()
    if options.name == "lenet_train" and options.method is None:
        words.error("expected --method for lenet_train; got none")
    if options.name in FILMS:
        films.DATA[FILMS[options.name]]()  # drawn while other sections measure
    with alone(options.output / ".lock", not (options.trial or options.name in BESIDE)):
        begin = time.perf_counter()
        found = measured(options.name, options)
        took = time.perf_counter() - begin
    print(f"{options.name}: {took:.1f} s", flush=True)
    if found is None:
        return
    content = {"found": found, "seconds": took, **described()}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    (options.output / f"{options.name}.json").write_text(f"{text}\n", "utf-8")


if __name__ == "__main__":
    main()
