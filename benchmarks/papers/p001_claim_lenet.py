"""Chen et al. (2016), LeNet of figure 3: what sampling predicts beside point estimates.

SGHMC by splitting, SGHMC, SGLD and cyclical steps, SGD, a deep ensemble and mean-field variational
inference train LeNet on Fashion-MNIST for equally long. The quick form has scikit-learn's digits.
"""

import math
import sys
from pathlib import Path
from typing import Any

from benchmarks.papers import p001_lenet as lenet
from benchmarks.papers.command import main_with_clothes
from benchmarks.papers.common import Row, column, select, worst_score
from benchmarks.papers.criteria import above, below
from benchmarks.papers.finding import Finding
from benchmarks.papers.p001_lenet_check import CHECKED, SCORED, compared
from benchmarks.papers.p001_lenet_methods import (
    CANDIDATES,
    COLD,
    DRAWS,
    ENSEMBLE,
    FINALISTS,
    GUIDE,
    MEMBERS,
    METHODS,
    POINT,
    Plan,
    choose,
    final,
    predicted,
    train,
)
from benchmarks.papers.p001_lenet_runs import BATCH, CYCLES, MOMENTUM
from benchmarks.papers.p001_lenet_scores import BINS
from benchmarks.papers.p001_lenet_table import ODD_KIND, table
from benchmarks.papers.picture import COLOURS, MARKERS, label, legend, panels
from examples.idx import FASHION_MNIST

TITLE = "LeNet on Fashion-MNIST, by sampling and by optimisation"
MEASURED = ("measured",)
SECONDS = 100.0
CHECK_STEPS, CHECK_CHAINS = 200, 4
QUICK = ("SGHMC-S", ENSEMBLE)
DRAWN = ("SGHMC-S", "SGLD", "cyclical", COLD, POINT, ENSEMBLE, GUIDE)
"""Methods in the picture, where SGHMC would cover its splitting."""
FEWEST = 100
"""Images of a bin that is drawn."""


def measure(quick: bool = False, folder: Path = FASHION_MNIST) -> list[Row]:
    """Return settings tried, scores along the trainings, and differences."""
    if quick:
        sets, plan = lenet.digits(), Plan(1.0, records=8)
        settings = {method: CANDIDATES[method.replace(ENSEMBLE, POINT)][1] for method in QUICK}
        done = {m: predicted(sets, train(m, s, sets, plan)) for m, s in settings.items()}
        return table(sets, {}, {}, done, compared(sets, 20, CHECK_CHAINS))
    sets, plan = lenet.clothes(folder), Plan(SECONDS)
    tried = {method: choose(method, sets, plan) for method in CANDIDATES}
    finals, done = {}, {}
    for method in METHODS:
        finals[method], run = final(method, tried[_chooser(method)], sets, plan)
        done[method] = predicted(sets, run)
    return table(sets, tried, finals, done, compared(sets, CHECK_STEPS, CHECK_CHAINS))


def _chooser(method: str) -> str:
    """Return whose candidates a method's setting is chosen from."""
    return POINT if method == ENSEMBLE else method


def findings(rows: list[Row]) -> list[Finding]:
    """Compare scores of the same test images."""
    found = []
    for method in ("SGHMC-S", "SGHMC", "cyclical", COLD):
        found += _compared(
            f"ours: log score of {method} at least the deep ensemble's at equal training time",
            rows,
            (method, ENSEMBLE, "log score"),
            above,
        )
        found += _compared(
            f"ours: calibration error of {method} at most the deep ensemble's at equal training"
            " time",
            rows,
            (method, ENSEMBLE, "calibration error"),
            below,
        )
    for other, claim in (
        ("SGHMC", "splitting predicts at least as well as Euler (Chen et al. 2015)"),
        ("SGLD", "SGHMC-S predicts better than SGLD (Chen et al. 2015)"),
        (GUIDE, "ours: SGHMC-S predicts better than mean-field SVI at equal training time"),
        (POINT, "ours: SGHMC-S predicts better than SGD's point estimate at equal training time"),
    ):
        asked = "SGHMC-S", other, "log score"
        found += _compared(f"{claim}: log score", rows, asked, above)
    asked = "SGHMC-S", POINT, f"entropy, {ODD_KIND}"
    claim = "ours: SGHMC-S is less sure than SGD of images of another kind: entropy"
    return [*found, *_compared(claim, rows, asked, above)]


def _compared(claim: str, rows: list[Row], asked: tuple, criterion: Any) -> list[Finding]:
    method, other, what = asked
    pair = [select(rows, kind="score", method=name, what=what) for name in (method, other)]
    found = select(rows, kind="difference", method=method, other=other, what=what)
    if not found:
        return []
    mine, theirs = (one[0]["measured"] for one in pair)
    value, error = found[0]["measured"], found[0]["error"]
    return [
        Finding(
            claim,
            f"{mine:.4f} against {theirs:.4f}, {value:+.4f} ± {error:.4f}",
            "",
            criterion(value, error, 0.0),
            worst_score(select(rows, kind="check"), error="check_error"),
        )
    ]


def setting(rows: list[Row]) -> list[str]:
    """Return what was run, and the table of the methods."""
    check = select(rows, kind="check")[0]
    return [
        "Ours: Fashion-MNIST in place of MNIST,"
        f" {60_000 - lenet.VALIDATING:,} images to train, {lenet.VALIDATING:,} to choose settings"
        f" and 10,000 to test. LeNet as in Caffe (20 and 50 filters 5 × 5, each with a pool of"
        f" 2 × 2, 500 hidden units with ReLU), {lenet.SIZE:,} weights ~ N(0, 1) as in the paper,"
        f" B = {BATCH}, momentum 1 - D h = {MOMENTUM}, starts as Caffe's. One worker. The paper"
        " compares numbers of workers (see figure 3 above) and shows no other methods.",
        "",
        f"Each method trains for {SECONDS:.0f} s of one processor, compilation and prediction not"
        f" counted; the ensemble's {MEMBERS} members share them. Candidates train for a"
        f" fifth of the time, the {FINALISTS} with the best log score of the validation images for"
        " the whole, and the better one is shown. The ensemble has SGD's setting for a fifth of the"
        " time, which is a member's. *rate* is h² N with momentum, h N for"
        " SGLD, Adam's for SVI; SGD has a cosine decay to zero or Caffe's. *cold* is a tempered"
        f" posterior. Chains with a constant step average the {_networks(rows)} draws of their"
        f" later half, cyclical ones the later half of each of {CYCLES} cycles but the first, SVI"
        f" {DRAWS} draws. All are the same model, so that SGD's weight decay is the prior's.",
        "",
        *_methods(rows),
        "",
        "Errors are those of the test images (bootstrap, the same images for both methods); each"
        " method was trained once, and errors do not contain how trainings differ. The calibration"
        f" error has {BINS} bins of confidence. The network has no exact values. *Deviation* is"
        f" that of {CHECK_CHAINS} chains of `SGHMC` from {CHECK_CHAINS} written by hand, after"
        f" {CHECK_STEPS} transitions with h² N = {CHECKED.rate:g}: loss of a draw on {SCORED} test"
        f" images {check['measured']:.3f} against {check['exact']:.3f}. With so few chains four"
        " errors occur by chance in 0.7 % of such comparisons.",
    ]


def _networks(rows: list[Row]) -> int:
    return select(rows, kind="score", method="SGHMC-S", what="log score")[0]["networks"]


def _methods(rows: list[Row]) -> list[str]:
    """Return a table of the scores of all methods."""
    names = [row["what"] for row in select(rows, kind="score", method="SGHMC-S")]
    lines = [
        f"| method | setting | steps | networks | {' | '.join(names)} |",
        "|---" * (4 + len(names)) + "|",
    ]
    for method in dict.fromkeys(column(select(rows, kind="score"), "method").tolist()):
        mine = select(rows, kind="score", method=method)
        values = " | ".join(f"{row['measured']:.4f}" for row in mine)
        first = mine[0]
        lines.append(
            f"| {method} | {_setting(rows, method)} | {first['steps']:,} | {first['networks']}"
            f" | {values} |"
        )
    return lines


def _setting(rows: list[Row], method: str) -> str:
    chosen = select(rows, kind="final", method=method, chosen=1)
    return f"rate {_words(chosen[0], method)}" if chosen else ""


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    spent = ", ".join(
        f"{method} {row['seconds']:.0f}"
        for method in METHODS
        for row in select(rows, kind="score", method=method, what="log score")
    )
    scored = column(select(rows, kind="score"), "method").tolist()
    without = [method for method in METHODS if method not in scored]
    missing = [f"Not in this table, and in the script: {', '.join(without)}."] if without else []
    ranked = ", ".join(
        f"{pick(select(rows, kind='score', what=what), key=_measured)['method']} ({name})"
        for pick, what, name in (
            (max, "log score", "log score"),
            (max, "accuracy", "accuracy"),
            (min, "calibration error", "calibration error"),
        )
    )
    return [
        *missing,
        f"Best of all: {ranked}. The ensemble's members have a fifth of the steps each.",
        f"Log scores of the validation images after a fifth of the time: {_judged(rows, 'tried')}.",
        f"After the whole time: {_judged(rows, 'final')}.",
        f"Seconds of training: {spent}. The number of steps follows from a measured cost of one.",
        "At this length no chain has reached its stationary distribution: the comparison is of"
        " predictions at equal cost, not of posteriors.",
    ]


def _judged(rows: list[Row], kind: str) -> str:
    """Return the validation images' log scores by method and setting."""
    lines = []
    for method in METHODS:
        scores = [
            f"{row['measured']:.3f} ({_words(row, method)})"
            if math.isfinite(row["measured"])
            else f"diverged ({_words(row, method)})"
            for row in select(rows, kind=kind, method=method)
        ]
        lines += [f"{method} {', '.join(scores)}"] if scores else []
    return "; ".join(lines)


def _words(row: Row, method: str) -> str:
    """Return a setting in words."""
    temperature = f", T = {row['temperature']:g}" if row["temperature"] != 1 else ""
    decay = f", {row['decay']}" if method in (POINT, ENSEMBLE) else ""
    return f"{row['rate']:g}{temperature}{decay}"


def _measured(row: Row) -> float:
    return row["measured"]


def draw(rows: list[Row]) -> Any:
    """Draw log scores along the trainings, and accuracy minus confidence by confidence."""
    figure, (course, calibration) = panels(2)
    for axis in (course, calibration):
        axis.set_xscale("linear")
        axis.set_yscale("linear")
    for number, method in enumerate(DRAWN):
        if not select(rows, kind="course", method=method):
            continue
        style: Any = {"color": COLOURS[number], "marker": MARKERS[number], "mfc": "none", "lw": 1}
        mine = select(rows, kind="course", method=method)
        course.plot(column(mine, "seconds"), column(mine, "measured"), ms=4, label=method, **style)
        bins = [row for row in select(rows, kind="bin", method=method) if row["count"] >= FEWEST]
        sure = column(bins, "confidence")
        calibration.plot(sure, column(bins, "measured") - sure, ms=4, **style)
    best_score = max(row["measured"] for row in select(rows, kind="course"))
    course.set_ylim(best_score - 0.25, best_score + 0.02)
    calibration.axhline(0, color="0.3", lw=1, zorder=1)
    label(course, "test images", "seconds of training", "log score")
    label(calibration, "calibration at the end", "confidence", "accuracy - confidence")
    legend(figure, course, 4)
    return figure


if __name__ == "__main__":
    main_with_clothes(sys.modules[__name__])
