"""LeNet on Fashion-MNIST on a GPU: all methods of `p001_claim_lenet`, for equal times.

Times of a step are measured first, without other programs. Then methods train side by side, each
for as many steps as it takes in its time. Every candidate trains for the whole time.
"""

import json
import pickle
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers import p001_lenet as lenet
from benchmarks.papers.common import Row
from benchmarks.papers.p001_claim_lenet import CHECK_CHAINS, CHECK_STEPS
from benchmarks.papers.p001_lenet_check import compared
from benchmarks.papers.p001_lenet_methods import (
    CANDIDATES,
    COLD,
    ENSEMBLE,
    GUIDE,
    METHODS,
    POINT,
    Plan,
    Predicted,
    Tried,
    judged,
    maker,
    predicted,
    train,
)
from benchmarks.papers.p001_lenet_runs import Setting, pace
from benchmarks.papers.p001_lenet_table import table

PACE_STEPS, RECORDS = 2_000, 8
KINDS = ("check", "final", "score", "difference")
SHOWN = (
    *("kind", "method", "other", "what", "rate", "temperature", "decay", "seconds", "measured"),
    *("error", "exact", "check_error", "chosen", "steps", "networks"),
)
"""Rows of the table, and their entries, that are kept."""
SMALLER = {
    "SGHMC-S": (0.0003, 0.001),
    "SGHMC": (0.0003, 0.001),
    "SGLD": (0.003, 0.01),
    "cyclical": (0.001, 0.003),
    POINT: (0.001, 0.003),
    GUIDE: (0.0001, 0.0003),
}
"""Rates below the candidates of the shorter training on a CPU, which ended at their smallest."""
SETTINGS = {
    method: [*(Setting(rate) for rate in SMALLER.get(method, ())), *settings]
    for method, settings in CANDIDATES.items()
} | {
    COLD: [*(Setting(rate, 0.1) for rate in (0.001, 0.003)), *CANDIDATES[COLD]],
    ENSEMBLE: [Setting(rate) for rate in (0.003, 0.01, 0.03)],
}


class Done(NamedTuple):
    """What training by one method gave: scores of all candidates, and the best one's predictions.

    Scores are those of the validation images.
    """

    finals: list[Tried]
    predicted: Predicted


def costs(folder: Path, methods: Collection[str], steps: int = PACE_STEPS) -> dict[str, float]:
    """Return the seconds of a step of methods; a member of an ensemble is a point estimate."""
    sets = lenet.clothes(folder)
    return {
        method: pace(maker(method, CANDIDATES[method][1], sets.training), steps)
        for method in methods
    }


def trained(method: str, folder: Path, seconds: float, output: Path) -> None:
    """Train by one method with each of its candidates, and keep the best."""
    sets, plan = lenet.clothes(folder), Plan(seconds, records=RECORDS)
    known = json.loads((output / "lenet_costs.json").read_text())["found"]
    cost = known[POINT if method == ENSEMBLE else method]
    runs = [train(method, setting, sets, plan, cost) for setting in SETTINGS[method]]
    scores = [judged(run.weights[run.groups[-1]], sets.validation) for run in runs]
    finals = [
        Tried(setting, score, float(run.seconds[-1]))
        for setting, score, run in zip(SETTINGS[method], scores, runs, strict=True)
    ]
    print(method, finals, flush=True)
    best = predicted(sets, runs[int(np.argmax(scores))])
    _path(output, method).write_bytes(pickle.dumps(Done(finals, best)))


def together(folder: Path, output: Path) -> list[Row]:
    """Return the table of the methods that have been trained."""
    done: dict[str, Done] = {
        method: pickle.loads(_path(output, method).read_bytes())
        for method in METHODS
        if _path(output, method).exists()
    }
    sets = lenet.clothes(folder)
    finals = {name: one.finals for name, one in done.items()}
    predictions = {name: one.predicted for name, one in done.items()}
    rows = table(sets, {}, finals, predictions, compared(sets, CHECK_STEPS, CHECK_CHAINS))
    return [{name: _known(row[name]) for name in SHOWN} for row in rows if row["kind"] in KINDS]


def _known(value: Any) -> Any:
    """Return the value, or None for a number that is not finite, which JSON does not have."""
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _path(output: Path, method: str) -> Path:
    return output / f"lenet_{method.replace(', ', '_')}.pickle"
