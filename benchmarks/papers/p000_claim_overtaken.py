"""Chen, Ding and Carin (2015), section 5: small rates lead early and are overtaken.

"When rates are smaller than the theoretically optimal rates, the bias and MSE tend to decrease
faster than the optimal rates at the beginning, but eventually they slow down and are surpassed."
"""

import sys
from typing import Any

import numpy as np

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, select, worst_score
from benchmarks.papers.criteria import above, below, decided, ratio
from benchmarks.papers.finding import Finding, Verdict
from benchmarks.papers.finite_time import exact_errors, fixed_step_bias
from benchmarks.papers.gaussian import BATCH
from benchmarks.papers.p000_runs import (
    CHAINS,
    DECREASING,
    FIXED,
    FRICTION,
    build,
    decreasing,
    fixed,
)
from benchmarks.papers.picture import label, legend, line, panels, points

TITLE = "Small rates, early and late"
MEASURED = ("bias", "mse")
OPTIMAL = {"bias": 1 / 3, "mse": 0.2}
SMALLER = {"bias": (0.1, 0.2), "mse": (0.1,)}
CURVES = {"decreasing": "bias", "fixed": "mse"}
"""The panels of the paper's figure 2."""
EARLY, LATE = 10, 10_000
GRID = (*(k * 10**p for p in (1, 2, 3, 4) for k in (1, 2, 5)), 100_000)


def measure(quick: bool = False) -> list[Row]:
    """Return measured errors at two lengths, and exact ones on a grid."""
    late = 1_000 if quick else LATE
    grid = tuple(length for length in GRID if length <= late or not quick)
    rows = []
    for kind, name in CURVES.items():
        rates = (*SMALLER[name], OPTIMAL[name])
        ran = [
            row
            for length in (EARLY, late)
            for row in _runs(kind, rates, length)
            if row["L"] == length
        ]
        for alpha in rates:
            for batch in (BATCH, None):
                exact = _exact(kind, name, alpha, batch, grid)
                for length, value in zip(grid, exact, strict=True):
                    where = {"schedule": kind, "batch": batch or 0, "alpha": round(alpha, 4)}
                    found = select(ran, **where, L=length)
                    rows.append(_row(name, where, length, value, found[0] if found else None))
    return rows


def _runs(kind: str, rates: tuple[float, ...], length: int) -> list[Row]:
    return fixed(rates, length, BATCH) if kind == "fixed" else decreasing(rates, length)


def _row(name: str, where: Row, length: int, exact: float, ran: Row | None) -> Row:
    """Return a row with the bias or the MSE; what is not its own is not a number."""
    row = where | {"L": length}
    for each in CURVES.values():
        mine = each == name
        row[each] = ran[each] if mine and ran else np.nan
        row[f"{each}_error"] = ran[f"{each}_error"] if mine and ran else np.nan
        row[f"{each}_exact"] = float(exact) if mine else np.nan
    return row


def _exact(
    kind: str, name: str, alpha: float, batch: int | None, grid: tuple[int, ...]
) -> list[float]:
    """Return the exact bias of decreasing steps, or MSE of fixed ones, at each length."""
    if kind == "decreasing":
        steps = DECREASING * np.arange(1, max(grid) + 1) ** -alpha
        return list(exact_errors(build, steps, batch, grid, with_mse=False).bias)
    found = []
    for length in grid:
        steps = np.full(length, np.float64(np.float32(FIXED * length**-alpha)))
        found.append(float(exact_errors(build, steps, batch, [length]).mse[0]))
    return found


def findings(rows: list[Row]) -> list[Finding]:
    """Judge each smaller rate against the optimal one, early and late."""
    found = []
    for kind, name in CURVES.items():
        for alpha in SMALLER[name]:
            found.append(_measured(rows, kind, name, alpha))
            found += [_over_all(rows, kind, name, alpha, batch) for batch in (BATCH, 0)]
    return found


def _pair(rows: list[Row], kind: str, name: str, alpha: float, **where: Any) -> tuple[Row, Row]:
    mine, best = (
        select(rows, schedule=kind, alpha=round(a, 4), **where)[0] for a in (alpha, OPTIMAL[name])
    )
    return mine, best


def _longest_run(rows: list[Row]) -> int:
    return max(row["L"] for row in rows if np.isfinite([row[n] for n in MEASURED]).any())


def _text(kind: str, name: str, alpha: float) -> str:
    what = {"bias": "bias", "mse": "MSE"}[name]
    return f"{what} at α = {alpha:.1f} leads that at {OPTIMAL[name]:.2f} early and is overtaken"


def _measured(rows: list[Row], kind: str, name: str, alpha: float) -> Finding:
    late = _longest_run(rows)
    pairs = [_pair(rows, kind, name, alpha, batch=BATCH, L=length) for length in (EARLY, late)]
    keys = (name, f"{name}_error")
    ratios = [ratio(*(row[key] for row in pair for key in keys)) for pair in pairs]
    exact = [abs(mine[f"{name}_exact"] / best[f"{name}_exact"]) for mine, best in pairs]
    parts = below(*ratios[0], 1.0), above(*ratios[1], 1.0)
    scores = [worst_score(pair, name, f"{name}_exact", f"{name}_error") for pair in pairs]
    words = [f"{r:.2f} ± {e:.2f}" for r, e in ratios]
    return Finding(
        f"{_text(kind, name, alpha)}, {kind} steps, B = {BATCH}: L = {EARLY:,} and {late:,}",
        f"{words[0]} times, then {words[1]}",
        f"{exact[0]:.2f} times, then {exact[1]:.2f}",
        decided(all(p is Verdict.HOLDS for p in parts), any(p is Verdict.FAILS for p in parts)),
        float(np.max(scores)),
    )


def _over_all(rows: list[Row], kind: str, name: str, alpha: float, batch: int) -> Finding:
    mine, best = (
        np.abs(column(select(rows, schedule=kind, batch=batch, alpha=round(a, 4)), f"{name}_exact"))
        for a in (alpha, OPTIMAL[name])
    )
    lengths = sorted({row["L"] for row in rows})
    leads = mine < best
    last = lengths[int(np.flatnonzero(leads)[-1])] if leads.any() else None
    where = "nowhere" if last is None else f"last at L = {last:,}"
    gradients = f"B = {batch}" if batch else "exact gradients"
    return Finding(
        f"the same over L = {lengths[0]:,} to {lengths[-1]:,}, {kind} steps, {gradients}",
        "",
        f"it leads {where} of {len(lengths)} lengths",
        # Where it still leads at the longest run nothing is known of what comes later.
        decided(leads.any() and not leads[-1], not leads.any()),
        None,
    )


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    late = _longest_run(rows)
    return [
        f"As figure 2: D = {FRICTION:.0f}, prefactors {DECREASING} (decreasing) and {FIXED}"
        f" (fixed), starts from the prior; {CHAINS} runs of L = {EARLY:,} and {late:,} with B ="
        f" {BATCH}; exact values also between and beyond, and with exact gradients. Bias for"
        " decreasing steps and MSE for fixed ones, as in the paper's figure 2, off which it reads"
        " the claim.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    far = {}
    for alpha in (0.2, 1 / 3, 0.5):
        h = FIXED * 1e8**-alpha
        far[alpha] = abs(fixed_step_bias(build(h), h, BATCH, 1e8))
    best = min(far, key=lambda alpha: far[alpha])
    return [
        "With minibatches the rate that overtakes is not the last: the bias is then of order one,"
        f" and at L = 10^8 the bias of fixed steps is least at α = {best:.2f} of 0.20, 0.33, 0.50.",
    ]


def draw(rows: list[Row]) -> Any:
    """Draw bias and MSE against the length."""
    figure, axes = panels(2, 3.9)
    for axis, (kind, name) in zip(axes, CURVES.items(), strict=True):
        for number, alpha in enumerate((0.1, 0.2, 1 / 3)):
            mine = select(rows, schedule=kind, batch=BATCH, alpha=round(alpha, 4))
            if not mine:
                continue
            ran = [row for row in mine if np.isfinite(row[name])]
            size, error = np.abs(column(ran, name)), column(ran, f"{name}_error")
            points(axis, column(ran, "L"), size, error, number, f"α = {alpha:.2f}")
            line(axis, column(mine, "L"), np.abs(column(mine, f"{name}_exact")), number)
            smooth = select(rows, schedule=kind, batch=0, alpha=round(alpha, 4))
            values = np.abs(column(smooth, f"{name}_exact"))
            line(axis, column(smooth, "L"), values, number, linestyle=":")
        what = {"bias": r"|bias of $\theta^2$|", "mse": r"MSE of $\theta^2$"}[name]
        label(axis, f"SGHMC-{kind[0].upper()}, {kind} steps", "steps L", what)
    axes[0].plot([], [], ":", color="0.3", label="exact, exact gradients")
    legend(figure, axes[0], 5, f"exact, B = {BATCH}")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
