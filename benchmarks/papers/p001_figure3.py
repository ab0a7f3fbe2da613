"""Chen et al. (2016), figure 3: test loss of a network against iterations of each worker.

scikit-learn's digits and a small network after LeNet stand in for MNIST and CIFAR-10.
"""

import sys
from typing import Any

import numpy as np

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, mean_and_error, select, worst_score
from benchmarks.papers.criteria import above, below
from benchmarks.papers.finding import Finding
from benchmarks.papers.p001_clock import SERVING, VARYING, asynchronous
from benchmarks.papers.p001_network import SIZE, TESTED, TRAIN
from benchmarks.papers.p001_runs import (
    BATCH,
    EVERY,
    MOMENTUM,
    RATE,
    SETTLED,
    by_hand,
    by_kernel,
    log_chances,
)
from benchmarks.papers.picture import COLOURS, MARKERS, label, legend, panels, points, ticks

TITLE = "A network with many workers"
MEASURED = ("measured",)
WORKERS = (1, 2, 4, 6, 9)
CHECKED = (1, 4, 9)
"""Numbers of workers with which servers are written by hand, too."""
FEW, MANY = 4, 9
COUNTS = {RATE: 900, RATE / 5: 1_800}
"""Transitions at each rate."""
CHECKED_TO = 900
CHAINS = 8
REMEDIES = ("friction", "curvature")


def measure(quick: bool = False) -> list[Row]:
    """Return losses along the runs."""
    if quick:
        return _measure(RATE, CHECKED, 450, 6)
    rows = []
    for rate, count in COUNTS.items():
        rows += _measure(rate, WORKERS, count, CHAINS)
    for remedy in REMEDIES:
        found = by_kernel(np.full(CHAINS, MANY), COUNTS[RATE], RATE, remedy)
        rows += _rows(RATE, MANY, remedy, _losses(found), None)
    return rows


def _measure(rate: float, workers: tuple[int, ...], count: int, chains: int) -> list[Row]:
    found = _losses(by_kernel(np.repeat(workers, chains), count, rate))
    hand = _losses(by_hand(np.repeat(CHECKED, chains), min(count, CHECKED_TO), rate))
    checks = dict(zip(CHECKED, np.split(hand, len(CHECKED)), strict=True))
    return [
        row
        for number, mine in zip(workers, np.split(found, len(workers)), strict=True)
        for row in _rows(rate, number, "none", mine, checks.get(number))
    ]


def _losses(positions: np.ndarray) -> np.ndarray:
    """Return the mean test loss of each draw, (chains, K)."""
    return -log_chances(positions).mean(-1)


def _rows(
    rate: float, workers: int, remedy: str, losses: np.ndarray, hand: np.ndarray | None
) -> list[Row]:
    steps = EVERY * np.arange(1, losses.shape[1] + 1)
    times = asynchronous(workers, int(steps[-1])).times[steps - 1]
    measured, error = mean_and_error(losses)
    exact, own = np.full((2, len(steps)), np.nan)
    if hand is not None:
        exact[: hand.shape[1]], own[: hand.shape[1]] = mean_and_error(hand)
    # The last one is where iterations of each worker are those of the largest number.
    shown = set(np.geomspace(1, len(steps), 12).round().astype(int) - 1)
    shown.add(len(steps) * workers // max(WORKERS) - 1)
    return [
        {
            "rate": rate,
            "remedy": remedy,
            "workers": workers,
            "transitions": int(steps[i]),
            "iterations": steps[i] / workers,
            "time": float(times[i]),
            "measured": float(measured[i]),
            "error": float(error[i]),
            "exact": float(exact[i]),
            "check_error": float(np.hypot(error[i], own[i])),
        }
        for i in sorted(shown)
    ]


def findings(rows: list[Row]) -> list[Finding]:
    """Compare numbers of workers, and remedies, after equally many iterations of each worker."""
    found = []
    for rate in sorted({row["rate"] for row in rows}, reverse=True):
        mine = {row["workers"]: row for row in _ends(rows, rate)}
        at = f"η = {rate:g}, {mine[1]['iterations']:.0f} iterations of each worker"
        found.append(
            _compared(
                f"faster with workers: {FEW} have a smaller loss than 1, {at}",
                rows,
                mine[FEW],
                mine[1],
                below,
            )
        )
        found.append(
            _compared(
                f"too many are worse: {MANY} have a larger loss than {FEW}, {at}",
                rows,
                mine[MANY],
                mine[FEW],
                above,
            )
        )
    for remedy in REMEDIES:
        if select(rows, remedy=remedy):
            with_it, without = (_ends(rows, RATE, each)[-1] for each in (remedy, "none"))
            found.append(
                _compared(
                    f"ours: {remedy} makes the loss of {MANY} workers smaller, η = {RATE:g}",
                    rows,
                    with_it,
                    without,
                    below,
                )
            )
    return found


def _ends(rows: list[Row], rate: float, remedy: str = "none") -> list[Row]:
    """Return where each worker has computed as many gradients as it can with the most workers."""
    mine = select(rows, rate=rate, remedy=remedy)
    last = max(row["transitions"] for row in mine) / max(WORKERS)
    return [row for row in mine if row["iterations"] == last]


def _compared(claim: str, rows: list[Row], row: Row, other: Row, criterion: Any) -> Finding:
    value, error = row["measured"] - other["measured"], np.hypot(row["error"], other["error"])
    checked = [
        each
        for one in (row, other)
        for each in select(rows, rate=one["rate"], remedy="none", workers=one["workers"])
        if np.isfinite(each["exact"])
    ]
    by_both = np.isfinite(row["exact"]) and np.isfinite(other["exact"])
    return Finding(
        claim,
        f"{row['measured']:.3f} ± {row['error']:.3f} against"
        f" {other['measured']:.3f} ± {other['error']:.3f}",
        f"by hand {row['exact']:.3f} against {other['exact']:.3f}" if by_both else "",
        criterion(value, float(error), 0.0),
        worst_score(checked, error="check_error"),
    )


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    counts = " and ".join(f"{n:,} (η = {rate:g})" for rate, n in COUNTS.items())
    return [
        f"Ours: scikit-learn's digits (8 × 8 pixels, {TRAIN:,} to train, {TESTED} to test) in place"
        " of MNIST, so that many runs take minutes and no files are needed. The network has two"
        " convolutions (6 filters 3 × 3, pool, 12 filters 2 × 2) and two full layers, ReLU,"
        f" {SIZE:,} weights ~ N(0, 1). `SGHMC` with B = {BATCH}, momentum 1 - D h = {MOMENTUM} and"
        f" η = h² N = {RATE:g}, Caffe's defaults for LeNet, and a fifth of"
        f" this η; {counts} transitions from Caffe's random weights. Ages are those of a simulated"
        " server that takes gradients in the order of arrival, with gradients of which"
        f" {VARYING:.0%} of the time is exponentially distributed, and {SERVING:.0%} of this time"
        f" for the server. {CHAINS} runs for each curve. The paper: MNIST with Caffe's LeNet and"
        " CIFAR-10, 10,000 iterations, one run.",
        "",
        "The loss is that of a draw. The network has no exact values. In their place stand servers"
        " that are written by hand, with workers that hold the positions they were sent"
        f" (`benchmarks/papers/p001_server.py`): {CHAINS} runs with each of"
        f" {', '.join(str(w) for w in CHECKED)} workers, so that four errors occur by chance in"
        " 0.1 % of the comparisons.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    found = []
    for rate in COUNTS:
        mine = _ends(rows, rate)
        losses = ", ".join(f"{row['measured']:.3f} (W = {row['workers']})" for row in mine)
        found.append(
            f"η = {rate:g}: loss after {mine[0]['iterations']:.0f} iterations of each worker"
            f" {losses}."
        )
    edges = " and ".join(
        f"{(1 - MOMENTUM) / ((MANY - 1) * rate):.2f} (η = {rate:g})" for rate in COUNTS
    )
    return [
        *found,
        "Gradients of mean age a are negative friction: to first order a direction is stable while"
        " a η s < 1 - momentum, with s the curvature of the mean loss. With"
        f" {MANY} workers, a = {MANY - 1}, this is s < {edges}. The paper, too, advises smaller"
        " steps for many workers.",
        "The remedies take the diagonal of the Fisher information after"
        f" {SETTLED} transitions of one worker as the curvature.",
    ]


def draw(rows: list[Row]) -> Any:
    """Draw losses over iterations at both rates, over time, and with remedies."""
    figure, axes = panels(4, height=6.2, rows=2)
    shown = [(RATE, "iterations"), (min(COUNTS), "iterations"), (min(COUNTS), "time")]
    units = {"iterations": "iterations of each worker", "time": "simulated time (gradients)"}
    for axis, (rate, x) in zip(axes, shown, strict=False):
        for number, workers in enumerate(WORKERS):
            mine = select(rows, rate=rate, remedy="none", workers=workers)
            _curve(axis, mine, x, number, f"{workers} worker{'s' if workers > 1 else ''}")
        label(axis, f"η = {rate:g}", units[x], "test loss of a draw")
    for number, remedy in enumerate(REMEDIES, start=5):
        mine = select(rows, rate=RATE, remedy=remedy)
        _curve(axes[3], mine, "iterations", number, "")
        name = {"friction": "with friction", "curvature": "with the curvature"}[remedy]
        look: Any = {"marker": MARKERS[number], "color": COLOURS[number], "mfc": "none"}
        axes[0].plot([], [], **look, lw=1, label=f"{MANY} workers {name}")
    _curve(axes[3], select(rows, rate=RATE, remedy="none", workers=MANY), "iterations", 4, "")
    for axis in axes[:3]:
        ticks(axis.yaxis, (0.3, 0.5, 1, 2))
    ticks(axes[3].xaxis, (5, 10, 20, 50, 100))
    ticks(axes[3].yaxis, (1, 1.5, 2, 3))
    label(axes[3], f"η = {RATE:g}, remedies", units["iterations"], "test loss of a draw")
    legend(figure, axes[0], 4)
    return figure


def _curve(axis: Any, rows: list[Row], x: str, number: int, name: str) -> None:
    points(axis, column(rows, x), column(rows, "measured"), column(rows, "error"), number, name)
    axis.plot(column(rows, x), column(rows, "measured"), color=COLOURS[number], lw=1, zorder=1)


if __name__ == "__main__":
    main(sys.modules[__name__])
