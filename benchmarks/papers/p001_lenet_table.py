"""The table of the methods on LeNet."""

from typing import Any

import numpy as np

from benchmarks.papers import p001_lenet as lenet
from benchmarks.papers.common import Row
from benchmarks.papers.p001_lenet_methods import (
    COLD,
    ENSEMBLE,
    GUIDE,
    POINT,
    Predicted,
    Tried,
    best,
)
from benchmarks.papers.p001_lenet_scores import (
    SCORES,
    difference,
    entropy,
    log_score,
    reliability,
    with_error,
)

ODD_KIND = "digits"
"""Images of another kind than those trained on."""
PAIRS = (
    ("SGHMC-S", ENSEMBLE),
    ("SGHMC", ENSEMBLE),
    (COLD, ENSEMBLE),
    ("cyclical", ENSEMBLE),
    ("SGHMC-S", "SGHMC"),
    ("SGHMC-S", "SGLD"),
    ("SGHMC-S", GUIDE),
    ("SGHMC-S", POINT),
)
"""Methods of which the first's scores minus the second's are kept."""


def table(
    sets: lenet.Sets,
    tried: dict[str, list[Tried]],
    finals: dict[str, list[Tried]],
    done: dict[str, Predicted],
    check: dict[str, float],
) -> list[Row]:
    """Return all rows: settings, courses, scores, differences, calibration, and the check."""
    y = np.asarray(sets.test.y)
    rows = [_row(kind="check", method="SGHMC", what="loss of a draw", **check)]
    for kind, found in (("tried", tried), ("final", finals)):
        for method, runs in found.items():
            rows += _judged(kind, method, runs)
    for method, run in done.items():
        rows += [*_course(method, run, y), *_scores(method, run, y), *_bins(method, run, y)]
    for pair in PAIRS:
        if set(pair) <= set(done):
            rows += _differences(*pair, *(done[method] for method in pair), y)
    return rows


def _judged(kind: str, method: str, runs: list[Tried]) -> list[Row]:
    chosen, rows = best(runs), []
    for setting, score, seconds in runs:
        more: Any = {"measured": score, "seconds": seconds, "chosen": int(setting == chosen)}
        rows.append(_row(kind=kind, method=method, **setting._asdict(), **more))
    return rows


def _row(**given: Any) -> Row:
    names = ("kind", "method", "other", "what", "decay")
    numbers = ("rate", "temperature", "seconds", "confidence", "measured", "error", "exact")
    empty: Row = dict.fromkeys(names, "")
    empty |= dict.fromkeys((*numbers, "check_error"), float("nan"))
    return empty | dict.fromkeys(("chosen", "steps", "networks", "count"), 0) | given


def _course(method: str, run: Predicted, y: np.ndarray) -> list[Row]:
    shared = {"kind": "course", "method": method, "what": "log score"}
    return [
        _row(**shared, seconds=float(spent), measured=log_score(chances, y))
        for spent, chances in zip(run.seconds, run.test, strict=True)
    ]


def _scores(method: str, run: Predicted, y: np.ndarray) -> list[Row]:
    shared = {
        "kind": "score",
        "method": method,
        "seconds": float(run.seconds[-1]),
        "steps": run.steps,
        "networks": run.networks,
    }
    values = {name: with_error(score, run.test[-1], y) for name, score in SCORES.items()}
    for name, chances in {"test": run.test[-1], **run.odd}.items():
        values[f"entropy, {name}"] = with_error(entropy, chances, np.zeros(len(chances)))
    return [
        _row(**shared, what=what, measured=value, error=error)
        for what, (value, error) in values.items()
    ]


def _bins(method: str, run: Predicted, y: np.ndarray) -> list[Row]:
    return [
        _row(kind="bin", method=method, count=int(count), confidence=sure, measured=right)
        for count, sure, right in reliability(run.test[-1], y).T.tolist()
        if count
    ]


def _differences(
    method: str, other: str, mine: Predicted, theirs: Predicted, y: np.ndarray
) -> list[Row]:
    values = {
        name: difference(score, mine.test[-1], theirs.test[-1], y) for name, score in SCORES.items()
    }
    if ODD_KIND in mine.odd:
        pair = mine.odd[ODD_KIND], theirs.odd[ODD_KIND]
        values[f"entropy, {ODD_KIND}"] = difference(entropy, *pair, np.zeros(len(pair[0])))
    shared = {"kind": "difference", "method": method, "other": other}
    return [
        _row(**shared, what=what, measured=value, error=error)
        for what, (value, error) in values.items()
    ]
