"""Findings that figures 1 and 2 of Brosse et al. (2018) share."""

from benchmarks.papers import logistic
from benchmarks.papers.common import Row, column, select, slope, worst_score
from benchmarks.papers.criteria import order, ratio
from benchmarks.papers.finding import Finding
from benchmarks.papers.p004_runs import TRAJECTORIES

THEORY = {"LMC": -1.0, "SGLDFP": -1.0, "SGLD": 0.0, "SGD": 0.0}
THEOREMS = {"6": ("LMC", "SGLDFP"), "7": ("SGLD", "SGD")}
FIRST = 1_000
"""Slopes are fitted from this N on."""
SHOWN = (100, 1_000, 31_623, 100_000)


def slope_finding(rows: list[Row], method: str, name: str, what: str) -> Finding:
    """Judge the slope of a column in N, from N = 1,000 on; the score is that of all N."""
    mine = select(rows, method=method)
    far = [row for row in mine if row["N"] >= FIRST]
    size, error = column(far, "N"), column(far, f"{name}_error")
    measured, spread = slope(size, column(far, name), error)
    theorem, _ = slope(size, column(far, f"{name}_theorem"), error)
    return Finding(
        f"{what} of {method} has slope {THEORY[method]:.0f} in N",
        f"{measured:.3f} ± {spread:.3f}",
        f"{theorem:.3f} by the theorem",
        order(THEORY[method], measured, spread),
        worst_score(mine, name, f"{name}_exact", f"{name}_check_error"),
    )


def remainders(rows: list[Row], name: str) -> list[str]:
    """Return how far the theorems' leading terms are from the measurements, by N."""
    found = []
    for theorem, methods in THEOREMS.items():
        for method in methods:
            parts = []
            for row in select(rows, method=method):
                value, error = ratio(row[f"{name}_theorem"], 0.0, row[name], row[f"{name}_error"])
                if row["N"] in SHOWN:
                    parts.append(f"{value:.2f} ± {error:.2f} at N = {row['N']:,}")
            found.append(
                f"Theorem {theorem}'s leading term for {method} is {', '.join(parts)} times"
            )
    return [f"{text} the measured {name}." for text in found]


def setting_of_runs(rows: list[Row]) -> str:
    """Return what was run, and how it differs from the paper."""
    lmc = {row["N"]: row["trajectories"] for row in select(rows, method="LMC")}
    few = ", ".join(f"{v} at N = {n:,}" for n, v in lmc.items() if v < TRAJECTORIES)
    sizes = sorted({row["N"] for row in rows})
    return (
        f"Ours: {len(sizes)} values of N from {sizes[0]:,} to {sizes[-1]:,}, {TRAJECTORIES}"
        f" trajectories (LMC: {few}, none beyond), n = 1 / γ steps, the first tenth and at least 10"
        f" discarded, B = {logistic.BATCH}. The paper: 10 values of N, 100 trajectories, the first"
        " tenth discarded, B not given."
    )
