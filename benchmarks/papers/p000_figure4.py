"""Chen, Ding and Carin (2015), figure 4: topics of documents by splitting, Euler and SGLD.

The documents are simulated, and much fewer than the paper's, so that an exact Gibbs sampler of the
same posterior gives the perplexity to which all samplers tend.
"""

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, mean_and_error, select
from benchmarks.papers.criteria import above, below, decided, ratio
from benchmarks.papers.finding import Finding
from benchmarks.papers.p000_lda import (
    LENGTH,
    SHARE,
    SPARSE,
    TEST,
    TOPICS,
    TRAINING,
    WORDS,
    distance,
    documents,
    perplexity,
)
from benchmarks.papers.p000_lda_runs import BATCH, FRICTION, gibbs, sampler, starts
from benchmarks.papers.picture import label, legend, panels, points

TITLE = "Topics by splitting, Euler and SGLD"
MEASURED = ("perplexity", "variation")
NAMES = {"splitting": "SGHMC-S", "hamiltonian": "SGHMC-E", "langevin": "SGLD"}
SIZES = {
    "splitting": (0.01, 0.02, 0.04, 0.06, 0.08),
    "hamiltonian": (0.01, 0.02, 0.04, 0.06, 0.08),
    "langevin": (3e-4, 1e-3, 3e-3, 6e-3, 1e-2),
}
QUICK = {"splitting": (0.06,), "hamiltonian": (0.02, 0.06), "langevin": (3e-3,)}
LARGE = 0.06
"""Step size of the paper's kind, at which Euler explodes: D h > 2."""
CHAINS, STEPS, KEPT, SWEEPS = 8, 3_000, 30, 400


def measure(quick: bool = False) -> list[Row]:
    """Return perplexity and distance of topics for each sampler and step size."""
    chains, steps = (4, 1_200) if quick else (CHAINS, STEPS)
    first = starts(chains)
    key_gibbs, key_runs = jax.random.split(jax.random.key(5))
    exact = _scores(np.asarray(gibbs(SWEEPS, KEPT)(jax.random.split(key_gibbs, chains), first)))
    rows = []
    for number, (name, sizes) in enumerate((QUICK if quick else SIZES).items()):
        keys = jax.random.split(jax.random.fold_in(key_runs, number), chains)
        found = sampler(name, steps, KEPT)(jnp.array(sizes), keys, first)
        topics, diverged, acceptance = (np.asarray(part) for part in found)
        for h, draws, bad, rate in zip(sizes, topics, diverged, acceptance, strict=True):
            own = _scores(draws)
            rows.append(
                {
                    "sampler": name,
                    "step_size": h,
                    "steps": steps,
                    "chains": chains,
                    "perplexity": own["perplexity"],
                    "perplexity_error": own["perplexity_error"],
                    "variation": own["variation"],
                    "variation_error": own["variation_error"],
                    "diverged": int(np.sum(bad > 0)),
                    "acceptance": float(rate.mean()),
                    **{f"exact_{key}": value for key, value in exact.items()},
                    "true": perplexity(documents().topics[None]),
                }
            )
    return rows


def _scores(draws: np.ndarray) -> dict[str, float]:
    """Return means over chains, and standard errors, of draws (chains, draws, topics, words)."""
    values = {
        "perplexity": [perplexity(chain) for chain in draws],
        "variation": [distance(chain.mean(0)) for chain in draws],
    }
    found: dict[str, float] = {}
    for name, each in values.items():
        mean, error = mean_and_error(np.array(each))
        found |= {name: float(mean), f"{name}_error": float(error)}
    return found


def findings(rows: list[Row]) -> list[Finding]:
    """Compare the samplers at their best step sizes, and the large one."""
    best = {name: _best(select(rows, sampler=name)) for name in NAMES}
    split = best["splitting"]
    return [
        _reference(split),
        _order(split, best["hamiltonian"]),
        _order(split, best["langevin"]),
        _factor(split, best["langevin"]),
        _explosion(rows),
        _recovery(split),
    ]


def _best(mine: list[Row]) -> Row:
    return min((row for row in mine if not row["diverged"]), key=lambda row: row["perplexity"])


def _score(*rows: Row) -> float:
    """Return the largest deviation from the Gibbs sampler's perplexity, in standard errors."""
    return max(
        abs(row["perplexity"] - row["exact_perplexity"])
        / float(np.hypot(row["perplexity_error"], row["exact_perplexity_error"]))
        for row in rows
    )


def _exact(row: Row) -> str:
    return f"{row['exact_perplexity']:.2f} ± {row['exact_perplexity_error']:.2f} by Gibbs"


def _measured(row: Row) -> str:
    return (
        f"{row['perplexity']:.2f} ± {row['perplexity_error']:.2f} ({NAMES[row['sampler']]},"
        f" h = {row['step_size']:g})"
    )


def _reference(row: Row) -> Finding:
    values = row["perplexity"], row["perplexity_error"], row["true"], 0.0
    value, error = ratio(*values)
    return Finding(
        "ours: the perplexity of SGHMC-S is within 2 % of that of the true topics",
        _measured(row),
        f"{_exact(row)}; {row['true']:.2f} with the true topics",
        below(value, error, 1.02),
        _score(row),
    )


def _order(split: Row, other: Row) -> Finding:
    values = (
        split["perplexity"],
        split["perplexity_error"],
        other["perplexity"],
        other["perplexity_error"],
    )
    return Finding(
        f"SGHMC-S has a smaller perplexity than {NAMES[other['sampler']]}, each at its best h",
        f"{_measured(split)}, {_measured(other)}",
        f"{_exact(split)} for both as h → 0",
        below(*ratio(*values), 1.0),
        _score(split, other),
    )


def _factor(split: Row, langevin: Row) -> Finding:
    values = (
        langevin["perplexity"],
        langevin["perplexity_error"],
        split["perplexity"],
        split["perplexity_error"],
    )
    value, error = ratio(*values)
    return Finding(
        "SGLD's perplexity is 1.5 times that of SGHMC-S or more (the paper's: 2.1 times)",
        f"{value:.3f} ± {error:.3f} times",
        "1 as h → 0",
        above(value, error, 1.5),
        _score(split, langevin),
    )


def _explosion(rows: list[Row]) -> Finding:
    """Judge the claim at a large step; the score is that of the chains that survive."""
    (split,), (euler,) = (
        select(rows, sampler=name, step_size=LARGE) for name in ("splitting", "hamiltonian")
    )
    exploded = [row["diverged"] == row["chains"] for row in (split, euler)]
    survived = [row["diverged"] == 0 for row in (split, euler)]
    return Finding(
        f"SGHMC-E explodes at h = {LARGE:g} and SGHMC-S does not",
        f"{euler['diverged']} and {split['diverged']} of {split['chains']} chains exploded;"
        f" {_measured(split)}",
        f"SGHMC-E is unstable for D h > 2, h > {2 / FRICTION:g}; {_exact(split)}",
        decided(exploded[1] and survived[0], exploded[0] or survived[1]),
        _score(split),
    )


def _recovery(row: Row) -> Finding:
    return Finding(
        "ours: SGHMC-S recovers the topics, to a total variation of 0.1 on average",
        f"{row['variation']:.3f} ± {row['variation_error']:.3f}",
        f"{row['exact_variation']:.3f} ± {row['exact_variation_error']:.3f} by Gibbs",
        below(row["variation"], row["variation_error"], 0.1),
        _score(row),
    )


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    row = rows[0]
    passes = row["steps"] * BATCH / TRAINING
    return [
        f"Ours: {TRAINING} documents of {LENGTH} words, simulated with {TOPICS} topics over {WORDS}"
        f" words (Dirichlet parameters {SHARE:g} and {SPARSE:g}); {TEST} test documents, half of"
        " whose words tell their topics while the other half is scored. A topic is the softmax of"
        " real numbers, and the logarithm of each is that of a gamma variable: d ="
        f" {TOPICS * WORDS}. B = {BATCH}, {row['steps']:,} transitions ({passes:.0f} passes),"
        f" {row['chains']} chains, the second half kept, D = {FRICTION:.0f}; all samplers have the"
        " same starts and cost, and best step sizes are chosen for each, in each sampler's own h."
        " The words' topics are summed out; the shares of all documents are latents of rows, whose"
        " moves keep the exact conditional distribution. The gradient is the plain one of a"
        " minibatch (`PlainAtLatents`).",
        "",
        "The paper: 10 million documents of Wikipedia, 7,702 words, 200 and 500 topics, one pass,"
        " D = 20, 40, 80, h = 2·10⁻⁵ to 80·10⁻⁵; perplexities 1168 (SGHMC-S), 1180 (SGHMC-E) and"
        " 2496 (SGLD) with 200 topics. Perplexities of other documents cannot be compared with"
        " these. Deviations are from the perplexity by a Gibbs sampler of the same posterior.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    found = []
    for name in NAMES:
        mine = select(rows, sampler=name)
        text = "; ".join(
            f"h = {row['step_size']:g}: "
            + (
                f"{row['diverged']} chains exploded"
                if row["diverged"]
                else f"{row['perplexity']:.2f} ± {row['perplexity_error']:.2f}"
            )
            for row in mine
        )
        found.append(f"{NAMES[name]}: {text}.")
    rates = [row["acceptance"] for row in rows if not row["diverged"]]
    return [
        *found,
        "Chains start at random topics. At small steps some are still on their way, hence the"
        " larger perplexities and errors.",
        f"Moves of shares are accepted with probability {min(rates):.2f} to {max(rates):.2f}.",
    ]


def draw(rows: list[Row]) -> Any:
    """Draw perplexity and distance of topics against the step size."""
    figure, axes = panels(2)
    what = ("perplexity", "perplexity_error"), ("variation", "variation_error")
    for axis, (name, error) in zip(axes, what, strict=True):
        for number, sampler_name in enumerate(NAMES):
            mine = [r for r in select(rows, sampler=sampler_name) if not r["diverged"]]
            size = column(mine, "step_size")
            points(axis, size, column(mine, name), column(mine, error), number, NAMES[sampler_name])
        axis.axhline(rows[0][f"exact_{name}"], color="0.3", lw=1.3, zorder=1)
        axis.set_yscale("linear")
    label(axes[0], "Test documents", "step size h", "perplexity")
    label(axes[1], "Topics", "step size h", "total variation to the true ones")
    legend(figure, axes[0], 4, "Gibbs sampler")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
