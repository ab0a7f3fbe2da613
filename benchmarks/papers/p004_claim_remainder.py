"""Brosse et al. (2018), proposition 5 and theorems 6 and 7: the remainders of the expansions.

First and second moments about the mode have remainders of order N^-3/2 at gamma = eta / N
(posterior, LMC, SGLDFP), and of order eta^3/2 as eta -> 0 (SGLD). The laws are exact in one
dimension, by quadrature on a grid (`p004_grid_law`).
"""

import sys
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from benchmarks.papers import logistic
from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, mean_and_error, select, worst_score
from benchmarks.papers.criteria import above, below
from benchmarks.papers.finding import Finding
from benchmarks.papers.p004_grid_law import SHARES, X, Y, law, mode
from benchmarks.papers.picture import label, legend, line, panels, points
from benchmarks.papers.simulate import Runner
from numpyro_sgmcmc import SGLD, SGLDFP

TITLE = "Remainders"
MEASURED = ("measured",)
SIZES = (100, 1_000, 10_000, 100_000)
ETAS = (0.02, 0.01, 0.005, 0.0025)
ETA = 0.5
IN_ROWS = ("posterior", "LMC", "SGLDFP")
IN_ETA = ("SGLD",)
ROWS, CHAINS, BURN_IN, STEPS = 100, 400, 400, 1_000
ETA_OF_RUNS = {"LMC": ETA, "SGLDFP": ETA, "SGLD": 0.2}
THEOREM = {"posterior": "proposition 5", "LMC": "theorem 6", "SGLDFP": "theorem 6"}
MOMENTS = {"mean": "distance of the mean to the mode", "second": "second moment about the mode"}


def measure(quick: bool = False) -> list[Row]:
    """Return moments and leading terms by N and by eta, and what our kernels' runs have."""
    sizes, etas = (SIZES[:2], ETAS[:2]) if quick else (SIZES, ETAS)
    rows = [_row(method, size, ETA) for method in IN_ROWS for size in sizes]
    rows += [_row(method, round(1 / eta), eta) for method in IN_ETA for eta in etas]
    for method, eta in ETA_OF_RUNS.items():
        if not select(rows, method=method, N=ROWS, eta=eta):
            rows.append(_row(method, ROWS, eta))
        found = select(rows, method=method, N=ROWS, eta=eta)[0]
        found["measured"], found["error"] = _run(method, eta)
    return rows


def _row(method: str, size: int, eta: float) -> Row:
    exact = law(method, size, eta)
    row = {"method": method, "N": size, "eta": eta, "measured": np.nan, "error": np.nan}
    row |= {"exact": exact.second, "leading": exact.leading_second}
    return row | {
        "second_remainder": exact.second - exact.leading_second,
        "mean_remainder": exact.mean - exact.leading_mean,
    }


def _run(method: str, eta: float) -> tuple[float, float]:
    """Return the second moment about the mode of our kernel's draws, p = 1."""
    counts = np.rint(SHARES * ROWS).astype(int)
    x, y = np.repeat(X, counts)[:, None], np.repeat(Y, counts)
    center = mode(ROWS)

    def make(dial: Any) -> Any:
        batch = None if method == "LMC" else 1
        model = partial(logistic.model, batch=batch)
        if method == "SGLDFP":
            return SGLDFP(model, dial, anchor={"theta": jnp.full(1, center, jnp.float32)})
        return SGLD(model, dial)

    runner = Runner(make, logistic.arrays(x, y), lambda state: (state.z["theta"] - center) ** 2)
    start = np.full((CHAINS, 1), center)
    out = runner([eta / ROWS], start=start, burn_in=BURN_IN, blocks=1, length=STEPS)
    value, error = mean_and_error(out.mean()[0, :, 0])
    return float(value), float(error)


def findings(rows: list[Row]) -> list[Finding]:
    """Compare the orders of the remainders, and the runs with the grid."""
    found = []
    for name in MOMENTS:
        found += [_in_rows(rows, method, name) for method in IN_ROWS]
        found += [_in_eta(rows, method, name) for method in IN_ETA]
    return [*found, *(_run_finding(rows, method) for method in ETA_OF_RUNS)]


def _slope(rows: list[Row], name: str, by: str) -> tuple[float, list[Row]]:
    """Return the slope of the remainder between the last two rows."""
    ends = rows[-2:]
    remainder, size = np.abs(column(ends, f"{name}_remainder")), column(ends, by)
    return float(np.log(remainder[1] / remainder[0]) / np.log(size[1] / size[0])), ends


def _in_rows(rows: list[Row], method: str, name: str) -> Finding:
    power, ends = _slope(select(rows, method=method, eta=ETA), name, "N")
    return Finding(
        f"{MOMENTS[name]}, {method}: remainder O(N^-1.5) ({THEOREM[method]}), power below -1.4",
        "",
        f"N^{power:.3f} from N = {ends[0]['N']:,} to {ends[1]['N']:,}",
        below(power, 0.0, -1.4),
        None,
    )


def _in_eta(rows: list[Row], method: str, name: str) -> Finding:
    mine = [row for row in select(rows, method=method) if row["eta"] in ETAS]
    power, ends = _slope(mine, name, "eta")
    return Finding(
        f"{MOMENTS[name]}, {method}: remainder O(η^1.5) (theorem 7), N = 1 / η, power above 1.4",
        "",
        f"η^{power:.3f} from η = {ends[0]['eta']:g} to {ends[1]['eta']:g}",
        above(power, 0.0, 1.4),
        None,
    )


def _run_finding(rows: list[Row], method: str) -> Finding:
    row = next(row for row in select(rows, method=method) if np.isfinite(row["measured"]))
    value, error = (row[key] / row["leading"] for key in ("measured", "error"))
    return Finding(
        f"second moment of {method} within a quarter of its leading term, N = {ROWS}, η ="
        f" {row['eta']:g}",
        f"{value:.4f} ± {error:.4f} times",
        f"{row['exact'] / row['leading']:.4f} times",
        below(abs(value - 1), error, 0.25),
        worst_score([row]),
    )


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    return [
        "Logistic regression in one dimension with rows of six kinds in fixed proportions, so that"
        f" nothing but N changes; prior N(0, 1), p = 1, η = {ETA:g} and N ="
        f" {', '.join(f'{n:,}' for n in SIZES)}, or N = 1 / η and η ="
        f" {', '.join(f'{e:g}' for e in ETAS)}. Distributions are exact, by quadrature: a"
        f" transition is a mixture of normal distributions. Measured: {CHAINS} chains of our"
        f" kernels, {STEPS:,} steps after {BURN_IN}. The paper's statement is asymptotic, without"
        " numbers.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    powers = [_slope(select(rows, method=m, eta=ETA), n, "N")[0] for m in IN_ROWS for n in MOMENTS]
    return [
        "The exact remainders in N are smaller than the bound: powers"
        f" {min(powers):.2f} to {max(powers):.2f}, as odd orders of N^-1/2 vanish by symmetry.",
        "SGD is left out: without injected noise its distribution has no density on a grid.",
    ]


def draw(rows: list[Row]) -> Any:
    """Draw the remainders against N and against eta."""
    figure, axes = panels(2, 4.0)
    for axis, methods, by in ((axes[0], IN_ROWS, "N"), (axes[1], IN_ETA, "eta")):
        for number, method in enumerate(methods, start=0 if by == "N" else len(IN_ROWS)):
            mine = [
                row
                for row in select(rows, method=method)
                if row["eta"] == ETA or (method in IN_ETA and row["eta"] in ETAS)
            ]
            for name, style in (("second", "-"), ("mean", "--")):
                size = np.abs(column(mine, f"{name}_remainder"))
                line(axis, column(mine, by), size, number, linestyle=style)
            size = np.abs(column(mine, "second_remainder"))
            points(axis, column(mine, by), size, None, number, method)
    size = np.array(SIZES)
    axes[0].plot(size, 5.0 * size**-1.5, "k:", lw=1.3)
    axes[1].plot(ETAS, 2.0 * np.array(ETAS) ** 1.5, "k:", lw=1.3, label="slope of the bound")
    for number, method in enumerate(IN_ROWS):
        points(axes[1], np.array([]), np.array([]), None, number, method)
    axes[1].plot([], [], "--", color="0.3", label="of the mean")
    axes[1].set_xticks(ETAS, [f"{eta:g}" for eta in ETAS])
    axes[1].minorticks_off()
    label(axes[0], f"η = {ETA:g}", "rows N", "|remainder|")
    label(axes[1], "N = 1 / η", "η", "|remainder|")
    legend(figure, axes[1], 4, "of the second moment")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
