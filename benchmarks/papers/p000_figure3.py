"""Chen, Ding and Carin (2015), figure 3: bias of SGHMC with splitting against SGLD.

Step sizes C L^-alpha and C l^-alpha with the paper's alpha (1/3 and 1/2), C and friction chosen as
in the paper for L = 500, but from the exact bias instead of runs.
"""

import sys
from typing import Any

import numpy as np

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, mean_and_error, select, slope, worst_score
from benchmarks.papers.criteria import below, ratio
from benchmarks.papers.finding import Finding
from benchmarks.papers.gaussian import error_of_square, random_start, runner
from benchmarks.papers.gaussian import setting as setting_of_model
from benchmarks.papers.p000_choice import ALPHA, SHORTEST, best, exact_bias, small_start
from benchmarks.papers.picture import label, legend, line, panels, points

TITLE = "SGHMC against SGLD"
MEASURED = ("measured",)
NAMES = {"langevin": "SGLD, α = 1/2", "splitting": "SGHMC, splitting, α = 1/3"}
LENGTHS = (SHORTEST, 1_000, 2_000, 5_000, 10_000)
CHAINS = 400


def measure(quick: bool = False) -> list[Row]:
    """Return the bias for both samplers, both schedules and each number of steps."""
    rows = []
    for dynamics in ALPHA:
        for kind in ("fixed", "decreasing"):
            friction, c = best(dynamics, kind)
            counts = LENGTHS[:2] if quick else LENGTHS
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
    """Compare both samplers at the largest L, and how fast their biases fall."""
    found = []
    for kind in ("fixed", "decreasing"):
        slow, fast = (select(rows, sampler=name, schedule=kind) for name in ALPHA)
        found += [_level(slow[-1], fast[-1], kind), _speed(slow, fast, kind)]
    return found


def _level(slow: Row, fast: Row, kind: str) -> Finding:
    values = [fast["measured"], fast["error"], slow["measured"], slow["error"]]
    measured, error = ratio(*values)
    exact = abs(fast["exact"] / slow["exact"])
    return Finding(
        f"SGHMC's bias is less than SGLD's at L = {fast['L']:,}, {kind} steps",
        f"{measured:.3f} ± {error:.3f} times SGLD's",
        f"{exact:.3f} times",
        below(measured, error, 1.0),
        max(worst_score([slow, fast]), abs(measured - exact) / error),
    )


def _speed(slow: list[Row], fast: list[Row], kind: str) -> Finding:
    measured, exact = [], []
    for mine in (slow, fast):
        size, error = column(mine, "L"), column(mine, "error")
        measured.append(slope(size, column(mine, "measured"), error))
        exact.append(slope(size, column(mine, "exact"), error)[0])
    # Points of one run, or from one seed, are correlated: independent ones would have this error.
    spread = float(np.hypot(measured[0][1], measured[1][1]))
    gain = measured[1][0] - measured[0][0]
    first, last = slow[0]["L"], slow[-1]["L"]
    return Finding(
        f"SGHMC's bias falls faster in L than SGLD's, {kind} steps",
        f"L^{measured[1][0]:.2f} against L^{measured[0][0]:.2f} (± {spread:.2f}),"
        f" L = {first} to {last:,}",
        f"L^{exact[1]:.2f} against L^{exact[0]:.2f}",
        below(gain, spread, 0.0),
        max(worst_score(slow + fast), abs(gain - exact[1] + exact[0]) / spread),
    )


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    chosen = {
        (row["sampler"], row["schedule"]): f"C = {row['C']:g}"
        + (f", D = {row['friction']:.0f}" if row["sampler"] == "splitting" else "")
        for row in rows
    }
    text = "; ".join(f"{NAMES[k].split(',')[0]}, {s}: {v}" for (k, s), v in chosen.items())
    return [
        f"Ours: {CHAINS} runs from the prior, rates 1/2 (SGLD) and 1/3 (SGHMC), C and D of the"
        f" least exact bias at L = {SHORTEST} on the paper's grids ({text}). The paper: 200"
        " runs, C by simulation.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    fast = {k: select(rows, sampler="splitting", schedule=k)[-1] for k in ("fixed", "decreasing")}
    c, bias = small_start([fast["decreasing"]["L"]])
    times = abs(fast["decreasing"]["exact"] / bias[0])
    rates = []
    for dynamics in ALPHA:
        first = select(rows, sampler=dynamics, schedule="fixed")[0]
        ends = exact_bias(dynamics, first["friction"], "fixed", first["C"], [1e10, 1e11])
        rates.append(float(np.log10(ends[1] / ends[0])))
    return [
        "The paper's grid of first step sizes for decreasing steps begins at 0.003, where SGLD"
        f" is unstable (2 / λ = {2 * setting_of_model().variance:.4f}): SGLD first blows up, and"
        f" the comparison shows how it recovers. From h = {c:.1g}, below that grid, SGHMC's"
        f" exact bias is {times:.2f} times SGLD's.",
        f"As L → infinity the exact biases of fixed steps fall as L^{rates[0]:.2f} (SGLD) and"
        f" L^{rates[1]:.2f} (SGHMC).",
    ]


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
