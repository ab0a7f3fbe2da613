"""papers/000, figure 3: bias of SGHMC with splitting against SGLD, fixed and decreasing steps.

Step sizes C L^-alpha and C l^-alpha with the paper's alpha (1/3 and 1/2), C and friction chosen as
in the paper for L = 500, but from the exact bias instead of runs.
"""

import sys
from typing import Any

import numpy as np

from benchmarks.papers.common import (
    Finding,
    Row,
    Z,
    column,
    main,
    mean_and_error,
    select,
    worst_score,
)
from benchmarks.papers.gaussian import error_of_square, random_start, runner
from benchmarks.papers.p000_choice import ALPHA, SHORTEST, best, exact_bias, small_start
from benchmarks.papers.picture import label, legend, line, panels, points

NAMES = {"langevin": "SGLD, α = 1/2", "splitting": "SGHMC, splitting, α = 1/3"}
LENGTHS = (SHORTEST, 1_000, 2_000, 5_000, 10_000)
CHAINS = 400


def measure(quick: bool = False) -> list[Row]:
    """Return the bias for both samplers, both schedules and each number of steps."""
    rows = []
    for dynamics in ("langevin",) if quick else tuple(ALPHA):
        for kind in ("fixed",) if quick else ("fixed", "decreasing"):
            friction, c = best(dynamics, kind)
            counts = (SHORTEST,) if quick else LENGTHS
            errors = _errors(dynamics, friction, kind, c, counts)
            exact = exact_bias(dynamics, friction, kind, c, counts)
            for count, values, law in zip(counts, errors, exact, strict=True):
                mean, spread = mean_and_error(values)
                rows.append(
                    {
                        "sampler": dynamics,
                        "schedule": kind,
                        "friction": friction,
                        "C": c,
                        "L": count,
                        "measured": float(mean),
                        "error": float(spread),
                        "exact": float(law),
                    }
                )
    return rows


def _errors(dynamics: str, friction: float, kind: str, c: float, counts: Any) -> list[np.ndarray]:
    """Return each chain's error after each number of steps."""
    sampler, alpha = runner(dynamics, friction), ALPHA[dynamics]
    start = random_start(CHAINS)
    if kind == "decreasing":
        block = counts[0]
        out = sampler(
            [c],
            start=start,
            burn_in=0,
            blocks=max(counts) // block,
            length=block,
            exponents=alpha,
        )
        running = error_of_square(out.running())[0]
        return [running[:, count // block - 1] for count in counts]
    return [
        error_of_square(
            sampler([c * n**-alpha], start=start, burn_in=0, blocks=1, length=n).mean()
        )[0]
        for n in counts
    ]


def findings(rows: list[Row]) -> list[Finding]:
    """Compare both samplers at the largest L, and their rates."""
    score, sound = worst_score(rows), worst_score(rows) < Z
    found = []
    for kind in ("fixed", "decreasing"):
        pair = [select(rows, sampler=name, schedule=kind) for name in ALPHA]
        if not all(pair):
            continue
        slow, fast = (mine[-1] for mine in pair)
        ratio = [abs(fast[k] / slow[k]) for k in ("measured", "exact")]
        exact = f"{ratio[1]:.2f} times"
        if kind == "decreasing":
            c, bias = small_start([fast["L"]])
            exact += f" ({abs(fast['exact'] / bias[0]):.2f} if SGLD starts at h = {c:.1g} < 2 / λ)"
        found.append(
            Finding(
                f"SGHMC's bias is less than SGLD's at L = {fast['L']:,}, {kind} steps",
                f"{ratio[0]:.2f} times SGLD's, all within {score:.1f} errors",
                f"{exact}; rates L^-0.33 against L^-0.50 as L -> infinity",
                bool(ratio[1] < 1),
                sound,
            )
        )
    if not found:
        row = rows[-1]
        measured = f"{row['measured']:.2e} ± {row['error']:.1e}"
        claim = f"SGLD's bias at L = {row['L']}, fixed step, from a random start"
        found.append(Finding(claim, measured, f"{row['exact']:.2e}", True, sound))
    return found


def draw(rows: list[Row]) -> Any:
    """Draw the bias against the number of steps."""
    figure, axes = panels(2)
    far = np.unique(np.geomspace(SHORTEST, 1e7, 40).round())
    for axis, kind in zip(axes, ("fixed", "decreasing"), strict=True):
        for number, dynamics in enumerate(ALPHA):
            mine = select(rows, sampler=dynamics, schedule=kind)
            size, error = column(mine, "L"), column(mine, "error")
            points(axis, size, np.abs(column(mine, "measured")), error, number, NAMES[dynamics])
            counts = far if kind == "fixed" else np.array(LENGTHS)
            first = mine[0]
            exact = exact_bias(dynamics, first["friction"], kind, first["C"], counts)
            line(axis, counts, np.abs(exact), number)
        if kind == "decreasing":
            c, bias = small_start(LENGTHS)
            name = f"SGLD from h = {c:.1g}, below the paper's grid (exact)"
            axes[0].plot([], [], ":", color="0.3", label=name)
            axis.plot(LENGTHS, np.abs(bias), ":", color="0.3")
        label(axis, f"{kind} steps", "steps L", r"|bias of $\theta^2$|")
    legend(figure, axes[0], 2, "exact")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
