"""Chen, Ding and Carin (2015), section 5: sigmoid belief networks by splitting, Euler and SGLD.

Images are smaller than the paper's and networks have fewer units, so that sums over all hidden
states check annealed importance sampling, and NUTS gives the score to which samplers tend.
"""

import sys
from typing import Any

import jax
import numpy as np
from scipy.optimize import brentq

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, mean_and_error, outcome, select
from benchmarks.papers.criteria import above, below, decided, inside, ratio
from benchmarks.papers.finding import Finding
from benchmarks.papers.p000_belief_runs import (
    NAMES,
    RUNS,
    Scores,
    Size,
    curvature,
    network_of,
    nuts,
    sampler,
    scores,
    starts,
    starts_at_mode,
    without_units,
)
from benchmarks.papers.picture import label, legend, panels, points

TITLE = "Sigmoid belief networks by splitting, Euler and SGLD"
MEASURED = ("nll",)
SHORT = dict(zip(NAMES, ("SGHMC-S", "SGHMC-E", "SGLD"), strict=True))
SIZES = {
    "clothes": Size("clothes", 4, 200, 200, 5_000, 10, 4, 100),
    "digits": Size("digits", 2, 360, 200, 6_000, 10, 8, 40),
}
QUICK = {"digits": Size("digits", 2, 100, 200, 3_000, 10, 4, 40)}
WARMUP = 100
Grid = dict[str, tuple[tuple[float, float], ...]]
"""Step sizes h and frictions D sqrt(h) of a sampler."""
_PAPER = ((3e-4, 1.0), (6e-4, 1.0), (6e-4, 5.0))
_SMALL = ((0.005, 5.0), (0.01, 5.0))
GRIDS: dict[str, Grid] = {
    "clothes": {
        "splitting": _PAPER,
        "hamiltonian": _PAPER,
        "langevin": ((3e-6, 0.0), (3e-5, 0.0), (3e-4, 0.0)),
    },
    "digits": {
        "splitting": _SMALL,
        "hamiltonian": _SMALL,
        "langevin": ((1e-4, 0.0), (2e-4, 0.0)),
    },
}
BRIEF: dict[str, Grid] = {
    "digits": {
        "splitting": ((0.01, 5.0),),
        "hamiltonian": ((0.01, 5.0),),
        "langevin": ((2e-4, 0.0),),
    }
}


def measure(quick: bool = False) -> list[Row]:
    """Return the scores of each network, sampler, step size and friction."""
    sizes, grids = (QUICK, BRIEF) if quick else (SIZES, GRIDS)
    return [row for name, size in sizes.items() for row in of_network(size, grids[name])]


def of_network(size: Size, grid: Grid) -> list[Row]:
    """Return the rows of one network."""
    key_reference, key_runs, key_scores = jax.random.split(jax.random.key(5), 3)
    reference: dict[str, Any] = {"reference": "", "reference_error": ""}
    if size.name == "digits":
        found = scores(key_reference, size, nuts(size, WARMUP))
        mean, error = mean_and_error(found.summed)
        reference = {"reference": float(mean), "reference_error": float(error)}
    first = starts_at_mode(size) if size.name == "digits" else starts(size)
    rows, number = [], 0
    for place, name in enumerate(NAMES):
        for h, friction in grid[name]:
            keys = jax.random.split(jax.random.fold_in(key_runs, number), size.chains)
            draws, bad, changed = sampler(size)(place, h, friction, keys, *first)
            networks = network_of(size, draws)
            found = scores(jax.random.fold_in(key_scores, number), size, networks)
            number += 1
            last = jax.tree.map(lambda x: x[0, -1], networks)
            rows.append(
                {
                    "network": size.name,
                    "sampler": name,
                    "step_size": h,
                    "friction": friction,
                    "units": size.units,
                    "pixels": int(last.offset.size),
                    "test": size.test,
                    "batch": size.batch,
                    "steps": size.steps,
                    "kept": size.kept,
                    "chains": size.chains,
                    "powers": size.powers,
                    **_summary(found, np.asarray(bad), without_units(size)),
                    "changed": float(np.mean(changed)),
                    "curvature": curvature(size, last),
                    **reference,
                }
            )
    return rows


def _summary(found: Scores, bad: np.ndarray, alone: float) -> dict[str, Any]:
    """Return mean and error over chains, and how many are worse than independent pixels."""
    mean, error = mean_and_error(found.annealed)
    return {
        "nll": float(mean),
        "nll_error": float(error),
        "summed": float(found.summed.mean()),
        "annealing_error": found.error,
        "without_units": alone,
        "exploded": int(np.sum((bad > 0) | ~(found.annealed < alone))),
    }


def largest(row: Row) -> float:
    """Return the step size from which on a sampler is unstable on a parabola of this curvature.

    That is h^2 L = 4 cosh(D h / 2) for splitting, h^2 L = 4 - 2 D h for Euler, h L = 2 for SGLD.
    """
    friction, curve = row["friction"], row["curvature"]
    if row["sampler"] == "langevin":
        return 2 / curve

    def excess(h: float) -> float:
        damping = friction * np.sqrt(h)
        euler = row["sampler"] == "hamiltonian"
        return h**2 * curve - (4 - 2 * damping if euler else 4 * np.cosh(damping / 2))

    return float(brentq(excess, 0.0, 10 / np.sqrt(curve)))


def findings(rows: list[Row]) -> list[Finding]:
    """Compare the samplers at their best step sizes, for each network."""
    found = []
    for name in dict.fromkeys(row["network"] for row in rows):
        mine = select(rows, network=name)
        split, euler, langevin = (_best(select(mine, sampler=one)) for one in NAMES)
        if name == "digits":
            found.append(_reference(split))
        found += [
            _order(split, euler),
            _order(split, langevin),
            _factor(split, langevin),
            _explosion(mine),
        ]
    return [*found, _annealing(rows)]


def _best(mine: list[Row]) -> Row:
    return min((row for row in mine if not row["exploded"]), key=lambda row: row["nll"])


def _score(*rows: Row) -> float:
    """Return the largest deviation from sums over hidden states, and from NUTS where it was run."""
    found = [abs(row["nll"] - row["summed"]) / row["annealing_error"] for row in rows]
    for row in rows:
        if row["reference"] != "":
            error = np.hypot(row["nll_error"], row["reference_error"])
            found.append(abs(row["nll"] - row["reference"]) / error)
    return float(np.max(found))


def _exact(*rows: Row) -> str:
    row = rows[0]
    if row["reference"] == "":
        summed = " and ".join(f"{one['summed']:.3f}" for one in rows)
        return f"{summed} for these draws, summed"
    return f"{row['reference']:.4f} ± {row['reference_error']:.4f} by NUTS"


def _measured(row: Row) -> str:
    digits = 3 if row["reference"] == "" else 4
    friction = f", D = {row['friction']:g}/√h" if row["friction"] else ""
    return (
        f"{row['nll']:.{digits}f} ± {row['nll_error']:.{digits}f} ({SHORT[row['sampler']]},"
        f" h = {row['step_size']:g}{friction})"
    )


def _values(one: Row, other: Row) -> tuple[float, float, float, float]:
    return one["nll"], one["nll_error"], other["nll"], other["nll_error"]


def _reference(row: Row) -> Finding:
    exact = row["reference"], row["reference_error"]
    return Finding(
        "ours: SGHMC-S scores as NUTS does, within 1 %, digits",
        _measured(row),
        _exact(row),
        inside(*ratio(row["nll"], row["nll_error"], *exact), 0.99, 1.01),
        _score(row),
    )


def _order(split: Row, other: Row) -> Finding:
    return Finding(
        f"SGHMC-S scores better than {SHORT[other['sampler']]}, each at its best h,"
        f" {split['network']}",
        f"{_measured(split)}, {_measured(other)}",
        _exact(split, other),
        below(*ratio(*_values(split, other)), 1.0),
        _score(split, other),
    )


def _factor(split: Row, langevin: Row) -> Finding:
    value, error = ratio(*_values(langevin, split))
    return Finding(
        f"SGLD's score is 1.1 times that of SGHMC-S or more, {split['network']} (the paper's: 1.22"
        " and 1.12 times)",
        f"{value:.4f} ± {error:.4f} times",
        "1 as h → 0 and the chains get long",
        above(value, error, 1.1),
        _score(split, langevin),
    )


def _explosion(mine: list[Row]) -> Finding:
    """Judge the claim at the largest step; the score is that of the chains that survive."""
    size = max(row["step_size"] for row in select(mine, sampler="splitting"))
    split, euler = (
        max(select(mine, sampler=name, step_size=size), key=lambda row: row["friction"])
        for name in ("splitting", "hamiltonian")
    )
    gone = [row["exploded"] == row["chains"] for row in (split, euler)]
    survived = [row["exploded"] == 0 for row in (split, euler)]
    return Finding(
        f"SGHMC-E explodes at the largest h, {size:g}, and SGHMC-S does not, {split['network']}",
        f"{euler['exploded']} and {split['exploded']} of {split['chains']} chains exploded",
        f"unstable from h = {largest(euler):.2g} (SGHMC-E) and {largest(split):.2g} (SGHMC-S) on a"
        f" parabola of the curvature found, {split['curvature']:.2g}",
        decided(gone[1] and survived[0], gone[0] or survived[1]),
        _score(*(row for row in (split, euler) if not row["exploded"])),
    )


def _annealing(rows: list[Row]) -> Finding:
    mine = [row for row in rows if _is_stable(row)]
    worst = max(mine, key=lambda row: abs(row["nll"] - row["summed"]) / row["annealing_error"])
    value, error = worst["nll"] - worst["summed"], worst["annealing_error"]
    return Finding(
        "ours: annealed importance sampling is within 0.02 of sums over hidden states, the worst"
        f" of {len(mine)} runs with stable step sizes",
        f"off by {value:+.4f} ± {error:.4f} ({SHORT[worst['sampler']]}, {worst['network']})",
        "0",
        inside(value, error, -0.02, 0.02),
        abs(value) / error,
    )


def _is_stable(row: Row) -> bool:
    return row["step_size"] < largest(row)


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    texts = []
    temperatures = " and ".join(dict.fromkeys(str(row["powers"]) for row in rows))
    for name, images in (
        ("clothes", "Fashion-MNIST, 60,000 images averaged over squares of 4 × 4 pixels"),
        ("digits", "scikit-learn's digits, 1,437 images averaged over squares of 2 × 2 pixels"),
    ):
        mine = select(rows, network=name)
        if mine:
            row = mine[0]
            texts.append(
                f"*{name}*: {images}, 0 or 1 at a fixed threshold: {row['pixels']} pixels,"
                f" {row['units']} hidden units, B = {row['batch']}, {row['steps']:,} transitions,"
                f" {row['chains']} chains, {row['kept']} draws of the second half kept,"
                f" {row['test']} test images."
            )
    return [
        f"Ours: {' '.join(texts)} Images and networks are smaller than the paper's, and only a part"
        " of its step sizes and frictions is run, so that sums over all hidden states are possible"
        " and the runs take minutes. Parameters have N(0, 1) priors: the paper gives none. The"
        " hidden units of all images are kept and moved by Gibbs steps; the gradient is the plain"
        " one of a minibatch (`PlainAtLatents`). All samplers have the same starts and cost, and"
        " best step sizes and frictions are chosen for each, in each sampler's own h. Chains start"
        " at small random parameters (clothes), or at the highest mode found (digits), as NUTS"
        " does: there are several modes, of different scores, between which chains rarely move.",
        "",
        "The score is the mean of -log p(v | parameters) over test images and a chain's draws, ±"
        f" one standard error over chains, by annealed importance sampling ({temperatures}"
        f" temperatures, {RUNS} runs for each image and draw). It is a posterior expectation; the"
        " mean of p(v | parameters) would depend on how many draws are independent."
        " Deviations are from sums over all hidden states for the same draws, and for the digits"
        " from NUTS with the hidden units summed out too. Exploded is a chain that scores worse"
        " than independent pixels.",
        "",
        "The paper: MNIST of 28 × 28 pixels, 100 and 200 hidden units, B = 200, 5,000 iterations,"
        " h = 3·10⁻⁴ to 6·10⁻⁴, D = 0.9/√h, 1/√h and 5/√h; scores 103 (SGHMC-S), 105 (SGHMC-E) and"
        " 126 (SGLD) with 100 units, 98, 100 and 110 with 200. Scores of other images cannot be"
        " compared with these.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    found = []
    for name in dict.fromkeys(row["network"] for row in rows):
        for one in NAMES:
            mine = select(rows, network=name, sampler=one)
            found.append(f"{SHORT[one]}, {name}: {'; '.join(map(_run, mine))}.")
    alone = {row["network"]: row["without_units"] for row in rows}
    texts = [f"{value:.3f} ({name})" for name, value in alone.items()]
    return [
        *found,
        *(_away(row, rows) for row in rows if not _is_stable(row)),
        "Errors are larger for the clothes: their chains start at random parameters and are still"
        " at different places at the end. With four chains an error is itself known to 40 %.",
        f"Independent pixels score {', '.join(texts)}.",
    ]


def _away(row: Row, rows: list[Row]) -> str:
    """Return what became of a sampler at an unstable step size."""
    split = _best(select(rows, network=row["network"], sampler="splitting"))
    return (
        f"{SHORT[row['sampler']]} at h = {row['step_size']:g}, {row['network']}, is beyond"
        f" {largest(row):.2g}, from where it is unstable on a parabola of the curvature found. It"
        f" scores {row['summed'] / split['summed']:.2f} times what SGHMC-S does at its best h, by"
        " sums over all hidden states. Annealed importance sampling, whose logarithm tends to be"
        f" too small, is off by {row['nll'] - row['summed']:+.3f} ± {row['annealing_error']:.3f}"
        " there. The picture leaves this run out."
    )


def _run(row: Row) -> str:
    friction = f", D = {row['friction']:g}/√h" if row["friction"] else ""
    return f"h = {row['step_size']:g}{friction}: {outcome(row, 'nll', 4)}"


def draw(rows: list[Row]) -> Any:
    """Draw the scores against the step size, a panel for each network."""
    figure, axes = panels(2)
    series = list(dict.fromkeys((row["sampler"], row["friction"]) for row in rows))
    for axis, name in zip(axes, GRIDS, strict=True):
        mine = [row for row in select(rows, network=name) if _is_stable(row)]
        for number, (one, friction) in enumerate(series):
            some = select(mine, sampler=one, friction=friction)
            text = SHORT[one] + (f", D = {friction:g}/√h" if friction else "")
            values = (column(some, key) for key in ("step_size", "nll", "nll_error"))
            points(axis, *values, number, text)
        for row in mine[:1]:
            if row["reference"] != "":
                axis.axhline(row["reference"], color="0.3", lw=1.3, zorder=1)
        axis.set_yscale("linear")
        axis.margins(x=0.1)
        pixels = select(rows, network=name)[0]
        title = f"{name}: {pixels['pixels']} pixels, {pixels['units']} units"
        label(axis, title, "step size h", "-log p(image), mean")
    legend(figure, axes[0], 3, "NUTS")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
