"""What figure 5 of Durmus et al. (2016) claims, and what became of it."""

import numpy as np

from benchmarks.papers.common import Row, column, select, worst_score
from benchmarks.papers.criteria import below, decided
from benchmarks.papers.finding import Finding, Z
from benchmarks.papers.p003_films_runs import GIVEN, TURNING
from benchmarks.papers.p003_films_table import OURS, SMALL, cost, last

HALF = 0.6
"""What counts as "about half" of the time."""
LITTLE = 0.25
"""Share of SGLD's squared bias that extrapolation may leave."""
MOST = 0.5
"""Share of SGRRLD's time that ours may take for its best RMSE."""
Value = tuple[float, float]


def findings(rows: list[Row]) -> list[Finding]:
    """Compare the methods' times and errors, and predictions of the small data with exact ones."""
    found = []
    for name in dict.fromkeys(column(rows, "data")):
        mine = select(rows, data=name, kind="test error")
        found += [_half(mine, name), _same_time(mine, name)]
    # The runs differ in data only: these findings rest on predictions that have exact values.
    score = worst_score(select(rows, kind="prediction", method="SGRRLD"))
    found = [f._replace(score=score) for f in [*found, _bias(select(rows, data=SMALL))]]
    return found + [ours(mine, name, method) for name, mine, method in _of_ours(rows)]


def _of_ours(rows: list[Row]) -> list[tuple[str, list[Row], str]]:
    """Return data set, rows and method of each of our own runs."""
    errors = select(rows, kind="test error")
    names = dict.fromkeys(column(errors, "data"))
    every = [(name, select(errors, data=name), m) for m in (OURS, GIVEN, TURNING) for name in names]
    return [one for one in every if select(one[1], method=one[2])]


def _at(rows: list[Row], reached: float) -> Value:
    """Return test error and its standard error at a cost, on the logarithmic axis."""
    place = np.log(reached), np.log(cost(rows))
    value, error = (float(np.interp(*place, column(rows, name))) for name in ("measured", "error"))
    return value, error


def _difference(a: Value, b: Value) -> Value:
    return a[0] - b[0], float(np.hypot(a[1], b[1]))


def _value(row: Row) -> Value:
    return row["measured"], row["error"]


def _half(rows: list[Row], name: str) -> Finding:
    sgld, mine = last(rows, "SGLD"), select(rows, method="SGRRLD")
    end = float(cost([sgld])[0])
    value, error = _difference(_at(mine, HALF * end), _value(sgld))
    reached = [
        spent / end
        for spent, row in zip(cost(mine), mine, strict=True)
        if row["measured"] - sgld["measured"] <= Z * np.hypot(row["error"], sgld["error"])
    ]
    when = f"after {reached[0]:.2f} of SGLD's time" if reached else "not in its run"
    return Finding(
        f"SGRRLD needs about half of SGLD's time, at most {HALF:g} of it, for SGLD's last RMSE,"
        f" {name} ratings",
        f"RMSE larger by {value:.4f} ± {error:.4f} at {HALF:g} of the time; within {Z:.0f} errors"
        f" {when}",
        _exact(sgld),
        below(value, error, 0.0),
        None,
    )


def _exact(row: Row) -> str:
    return f"{row['exact']:.4f} by Gibbs for both as h → 0 and K h → infinity"


def ours(rows: list[Row], name: str, method: str) -> Finding:
    """Judge the time that ours takes for SGRRLD's best RMSE, with its warm-up."""
    best = min(select(rows, method="SGRRLD"), key=lambda row: row["measured"])
    limit, mine = MOST * best["seconds"], select(rows, method=method)
    away = [_difference(_value(row), _value(best)) for row in mine]
    # A record that is surely as good, and one that may be.
    sure, maybe = (
        [row for row, (value, error) in zip(mine, away, strict=True) if value + z * error <= 0]
        for z in (Z, -Z)
    )
    end, warmup = mine[-1], mine[0]["warmup"]
    parts = f", {warmup:.3g} s of them warm-up" if warmup else ""
    when = f"ours after {maybe[0]['seconds']:.3g} s{parts}" if maybe else "ours not in its run"
    return Finding(
        f"{method}: reaches SGRRLD's best RMSE in at most {MOST:g} of its time, {name} ratings",
        f"{best['measured']:.4f} ± {best['error']:.4f} by SGRRLD after {best['seconds']:.3g} s,"
        f" {when}; at the end {end['measured']:.4f} ± {end['error']:.4f} after"
        f" {end['seconds']:.3g} s",
        _exact(best),
        decided(
            bool(sure) and sure[0]["seconds"] <= limit,
            not maybe or maybe[0]["seconds"] > limit,
        ),
        None,
    )


def _same_time(rows: list[Row], name: str) -> Finding:
    pair = last(rows, "SGRRLD"), last(rows, "SGLD")
    value, error = _difference(*map(_value, pair))
    return Finding(
        f"SGRRLD has a smaller RMSE than SGLD after the same number of gradients in sequence,"
        f" {name} ratings",
        " against ".join(f"{row['measured']:.4f} ± {row['error']:.4f}" for row in pair),
        _exact(pair[0]),
        below(value, error, 0.0),
        None,
    )


def _bias(rows: list[Row]) -> Finding:
    squared = {row["method"]: _value(row) for row in select(rows, kind="squared bias")}
    (mine, error), (plain, plain_error) = squared["SGRRLD"], squared["SGLD"]
    both_errors = float(np.hypot(error, LITTLE * plain_error))
    off = worst_score(select(rows, kind="prediction", method="SGLD"))
    return Finding(
        f"extrapolation reduces the bias: squared bias of SGRRLD's predictions at most {LITTLE:g}"
        f" of SGLD's, {SMALL} ratings",
        f"{mine:.6f} ± {error:.6f} against {plain:.6f} ± {plain_error:.6f}",
        f"0 for predictions by Gibbs, from which SGLD's are up to {off:.1f} errors",
        below(mine - LITTLE * plain, both_errors, 0.0),
        None,
    )
