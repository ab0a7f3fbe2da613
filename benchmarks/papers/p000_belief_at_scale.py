"""Chen, Ding and Carin (2015), section 5: a belief network of the paper's size.

With 100 hidden units nothing exact is known: sums over hidden states are impossible. Annealed
importance sampling, which `p000_claim_belief` compares with such sums, is compared with itself at
more temperatures. A run takes an hour and is therefore not among the figures that
`python -m benchmarks.papers` runs:

    python -m benchmarks.papers.p000_belief_at_scale
"""

import sys
from typing import Any

import jax
import numpy as np

from benchmarks.papers.annealed_importance import Network
from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, mean_and_error, outcome, select
from benchmarks.papers.criteria import above, below, decided, inside, ratio, tied
from benchmarks.papers.finding import Finding, Verdict
from benchmarks.papers.p000_belief_at_scale_runs import (
    RUNS,
    Size,
    draws,
    images,
    scores,
    without_units,
)
from benchmarks.papers.picture import label, legend, line, panels, points

TITLE = "A sigmoid belief network of 100 units"
NAMES = {"splitting": "SGHMC-S", "hamiltonian": "SGHMC-E", "langevin": "SGLD"}
SIZE = Size("clothes", 100, 200, 5_000, 5, 3, 100, 200)
QUICK_SIZE = Size("digits", 20, 100, 1_000, 2, 2, 50, 40)
LARGEST = 6e-4
"""The largest step size of the paper."""
Grid = dict[str, tuple[tuple[float, float], ...]]
"""Step sizes h and frictions D sqrt(h) of a sampler."""
_BOTH = ((LARGEST, 1.0), (2e-3, 1.0))
GRID: Grid = {
    "splitting": _BOTH,
    "hamiltonian": _BOTH,
    "langevin": ((1e-6, 0.0), (2e-5, 0.0)),
}
QUICK: Grid = {
    "splitting": ((LARGEST, 1.0), (5e-3, 1.0)),
    "hamiltonian": ((LARGEST, 1.0), (5e-3, 1.0)),
    "langevin": ((1e-5, 0.0), (1e-4, 0.0)),
}
MORE = 4
"""How many times more temperatures annealed importance sampling is compared with."""


def measure(quick: bool = False) -> list[Row]:
    """Return scores by sampler, step size, friction and time."""
    size = QUICK_SIZE if quick else SIZE
    alone, pixels = without_units(size), images(size.name, size.test).training.shape[1]
    rows, best, found = [], np.inf, None
    key_runs, key_longer = jax.random.split(jax.random.key(2))
    for name, grid in (QUICK if quick else GRID).items():
        for h, friction in grid:
            key_runs, key_draws, key_scores = jax.random.split(key_runs, 3)
            networks = draws(key_draws, size, name, h, friction)
            scored = scores(key_scores, size, networks)
            exploded = ~(scored.values[:, -1] < alone)
            mean, error = mean_and_error(scored.values)
            if name == "splitting" and not exploded.any() and mean[-1] < best:
                best, found = mean[-1], networks
            for point in range(size.points):
                rows.append(
                    {
                        "sampler": name,
                        "step_size": h,
                        "friction": friction,
                        "transitions": size.steps * (point + 1) // size.points,
                        "nll": float(mean[point]),
                        "nll_error": float(error[point]),
                        "spread": float(scored.spread[point]),
                        "exploded": int(exploded.sum()),
                        "longer": "",
                        "without_units": alone,
                        **size._asdict(),
                        "pixels": pixels,
                        "images": len(images(size.name, size.test).training),
                    }
                )
    if found is not None:
        last = Network(*(part[:, -1:] for part in found))
        longer = scores(key_longer, size._replace(powers=MORE * size.powers), last).values.mean()
        _best(select(_ends(rows), sampler="splitting"))["longer"] = float(longer)
    return rows


def findings(rows: list[Row]) -> list[Finding]:
    """Compare the samplers at the end of their chains."""
    ends = _ends(rows)
    split, langevin = (_best(select(ends, sampler=name)) for name in ("splitting", "langevin"))
    slow = min(select(ends, sampler="langevin"), key=lambda row: row["step_size"])
    return [
        _order(split, select(ends, sampler="hamiltonian")),
        _order(split, select(ends, sampler="langevin")),
        _factor("SGLD's score is 1.1 times that of SGHMC-S or more", split, langevin),
        _factor(f"the same with SGLD at h = {slow['step_size']:g}, too small", split, slow),
        _explosion(ends),
        _annealing(split),
    ]


def _ends(rows: list[Row]) -> list[Row]:
    return select(rows, transitions=max(row["transitions"] for row in rows))


def _best(mine: list[Row]) -> Row:
    return min((row for row in mine if not row["exploded"]), key=lambda row: row["nll"])


def _values(row: Row) -> tuple[float, float]:
    return row["nll"], row["nll_error"]


def _setting(row: Row) -> str:
    friction = f", D = {row['friction']:g}/√h" if row["friction"] else ""
    return f"h = {row['step_size']:g}{friction}"


def _measured(row: Row) -> str:
    value, error = _values(row)
    return f"{value:.2f} ± {error:.2f} ({NAMES[row['sampler']]}, {_setting(row)})"


def _order(split: Row, others: list[Row]) -> Finding:
    """Judge the order at best settings: at all of the other sampler's that tie for the best."""
    sound = [row for row in others if not row["exploded"]]
    claim = f"SGHMC-S scores better than {NAMES[others[0]['sampler']]}, each at its best h"
    if not sound:
        measured = f"{_measured(split)}; the other explodes at all of its step sizes"
        return Finding(claim, measured, "unknown", Verdict.HOLDS, None)
    near = tied(column(sound, "nll"), column(sound, "nll_error"))
    best = [row for row, is_near in zip(sound, near, strict=True) if is_near]
    verdicts = {below(*ratio(*_values(split), *_values(row)), 1.0) for row in best}
    return Finding(
        claim,
        ", ".join(map(_measured, (split, *best))),
        "unknown",
        decided(verdicts == {Verdict.HOLDS}, verdicts == {Verdict.FAILS}),
        None,
    )


def _factor(claim: str, split: Row, langevin: Row) -> Finding:
    value, error = ratio(*_values(langevin), *_values(split))
    measured = f"{value:.3f} ± {error:.3f} times ({_measured(langevin)})"
    claim = f"{claim} (the paper's: 1.22 times)"
    return Finding(claim, measured, "unknown", above(value, error, 1.1), None)


def _explosion(ends: list[Row]) -> Finding:
    mine = select(ends, step_size=LARGEST)
    split, euler = (select(mine, sampler=name)[0] for name in ("splitting", "hamiltonian"))
    exploded = [row["exploded"] == row["chains"] for row in (split, euler)]
    survived = [row["exploded"] == 0 for row in (split, euler)]
    return Finding(
        f"SGHMC-E explodes at the paper's largest h, {LARGEST:g}, and SGHMC-S does not",
        f"{euler['exploded']} and {split['exploded']} of {split['chains']} chains exploded",
        "unknown",
        decided(exploded[1] and survived[0], exploded[0] or survived[1]),
        None,
    )


def _annealing(row: Row) -> Finding:
    """Compare two ladders; a log weight's variance is taken to fall as one over their length."""
    error = row["spread"] * ((1 + 1 / MORE) / (RUNS * row["test"] * row["chains"])) ** 0.5
    value = row["nll"] - row["longer"]
    return Finding(
        f"ours: annealed importance sampling is within 0.5 of itself with {MORE} times as many"
        " temperatures",
        f"off by {value:+.3f} ± {error:.3f}",
        f"{row['longer']:.2f} at {MORE * row['powers']:,} temperatures",
        inside(value, error, -0.5, 0.5),
        None,
    )


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    row = rows[0]
    return [
        f"Ours: Fashion-MNIST, {row['images']:,} images of {row['pixels']} pixels, 0 or 1 at a"
        f" fixed threshold; {row['units']} hidden units, B = {row['batch']},"
        f" {max(column(rows, 'transitions')):,} transitions, {row['chains']} chains from the same"
        " small random weights for all samplers. Parameters have N(0, 1) priors: the paper gives"
        " none. The hidden units of all images are kept. They are moved by `latent_move`, a"
        " function of the user's own: a Gibbs sweep that changes the odds of the pixels by one"
        " unit's weights at a time. Kernels run under `MCMC`, as users run them.",
        "",
        f"The score is the mean of -log p(v | parameters) over {row['test']} test images, the same"
        " for all, ± one standard error over chains, by annealed importance sampling"
        f" ({row['powers']} temperatures, {RUNS} runs for each image and chain). Independent pixels"
        f" score {row['without_units']:.1f}; exploded is a chain that scores worse.",
        "",
        "The paper: MNIST, 100 and 200 hidden units, B = 200, 5,000 iterations, h = 3·10⁻⁴ to"
        " 6·10⁻⁴, D = 0.9/√h, 1/√h and 5/√h; scores 103 (SGHMC-S), 105 (SGHMC-E) and 126 (SGLD)"
        " with 100 units. Scores of other images cannot be compared with these.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    ends, found = _ends(rows), []
    for name in NAMES:
        text = "; ".join(
            f"{_setting(row)}: {outcome(row, 'nll', 2)}" for row in select(ends, sampler=name)
        )
        found.append(f"{NAMES[name]}: {text}.")
    times = sorted({row["transitions"] for row in rows})
    before = select(rows, transitions=times[-2])
    better = sum(row["nll"] < last["nll"] for row, last in zip(ends, before, strict=True))
    return [
        *found,
        f"In the last {times[-1] - times[-2]:,} transitions {better} of {len(ends)} settings"
        " improve their score. Where it still improves, it is a score on the way to the posterior,"
        " and a sampler that moves faster has a better one.",
    ]


def draw(rows: list[Row]) -> Any:
    """Draw the score at the end against the step size, and along the chains."""
    figure, axes = panels(2)
    ends = _ends(rows)
    for number, name in enumerate(NAMES):
        mine = [row for row in select(ends, sampler=name) if not row["exploded"]]
        values = column(mine, "nll"), column(mine, "nll_error")
        points(axes[0], column(mine, "step_size"), *values, number, NAMES[name])
        for row, style in ((_best(mine), "-"), (mine[0], ":")):
            same = {key: row[key] for key in ("sampler", "step_size", "friction")}
            way = select(rows, **same)
            line(axes[1], column(way, "transitions"), column(way, "nll"), number, ls=style)
    for axis in axes:
        axis.set_yscale("linear")
    axes[1].set_xscale("linear")
    label(axes[0], "At the end", "step size h", "-log p(image), mean")
    label(axes[1], "Best h solid, first h dotted", "transitions", "-log p(image), mean")
    legend(figure, axes[0], 3)
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
