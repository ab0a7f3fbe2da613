"""Chen, Ding and Carin (2015), figure 4 as the paper ran it: one pass over very many documents.

The documents are simulated, so that the topics are known. A run of one pass has no exact value with
which to compare; perplexities are read beside that of the true topics. It is therefore not among
the figures that `python -m benchmarks.papers` runs:

    python -m benchmarks.papers.p000_topics_at_scale
"""

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, mean_and_error, outcome, select
from benchmarks.papers.criteria import above, below, decided, ratio, tied
from benchmarks.papers.finding import Finding, Verdict
from benchmarks.papers.p000_corpus import (
    LENGTH,
    SHARE,
    SPARSE,
    TEST,
    TOPICS,
    WORDS,
    Corpus,
    corpus,
    perplexity,
    predicted,
)
from benchmarks.papers.p000_lda import distance
from benchmarks.papers.p000_one_pass import BATCH, FRICTION, KEPT, SWEEPS, one_pass
from benchmarks.papers.picture import label, legend, line, panels, points

TITLE = "Topics in one pass over many documents"
NAMES = {"splitting": "SGHMC-S", "hamiltonian": "SGHMC-E", "langevin": "SGLD"}
SIZES = {
    "splitting": (1e-3, 2e-3, 4e-3, 6e-3),
    "hamiltonian": (1e-3, 2e-3, 4e-3, 6e-3),
    "langevin": (1e-6, 3e-6, 1e-5, 2e-5, 1e-4),
}
QUICK = {"splitting": (4e-3, 6e-3), "hamiltonian": (4e-3, 6e-3), "langevin": (1e-6, 2e-5)}
BOTH = 4e-3
"""The largest step size here at which neither integrator explodes."""
LARGE = 6e-3
"""A step size at which Euler explodes and the splitting does not."""
DOCUMENTS, CHAINS, PARTS, DRAWS = 200_000, 4, 10, 4
"""Parts of the pass, in each of which predictions are averaged over so many draws."""


def measure(quick: bool = False) -> list[Row]:
    """Return perplexity and distance of topics, by sampler, step size and part of the pass."""
    documents, chains, parts = (8_000, 2, 2) if quick else (DOCUMENTS, CHAINS, PARTS)
    data = corpus(documents)
    true = perplexity(_predicted(data, data.topics))
    key_start, key_runs = jax.random.split(jax.random.key(7))
    start = jax.random.normal(key_start, (chains, TOPICS * WORDS))
    rows = []
    for name, sizes in (QUICK if quick else SIZES).items():
        for h in sizes:
            key_runs, key = jax.random.split(key_runs)
            run = one_pass(name, documents, parts * DRAWS)
            topics, exploded = run(jnp.array(h), jax.random.split(key, chains), start)
            drawn = np.asarray(topics).reshape(chains, parts, DRAWS, TOPICS, WORDS)
            bad = int(np.sum(exploded))
            for part in range(parts):
                rows.append(
                    {
                        "sampler": name,
                        "step_size": h,
                        "documents": documents * (part + 1) // parts,
                        "chains": chains,
                        **_scores(data, drawn[:, part]),
                        "exploded": bad,
                        "true": true,
                    }
                )
    return rows


def _predicted(data: Corpus, topics: np.ndarray) -> np.ndarray:
    words = (jnp.asarray(part, jnp.int32) for part in (data.seen, data.scored))
    return np.asarray(predicted(jnp.asarray(topics, jnp.float32), *words))


def _scores(data: Corpus, drawn: np.ndarray) -> dict[str, float]:
    """Return means over chains, and standard errors, of draws (chains, draws, topics, words)."""
    values = {
        "perplexity": [
            perplexity(np.mean([_predicted(data, draw) for draw in chain], axis=0))
            for chain in drawn
        ],
        "variation": [distance(chain.mean(0), data.topics) for chain in drawn],
    }
    found: dict[str, float] = {}
    for name, each in values.items():
        mean, error = mean_and_error(np.array(each))
        found |= {name: float(mean), f"{name}_error": float(error)}
    return found


def findings(rows: list[Row]) -> list[Finding]:
    """Compare the samplers at the end of the pass."""
    ends = _ends(rows)
    split, langevin = (_best(select(ends, sampler=name)) for name in ("splitting", "langevin"))
    slow = select(ends, sampler="langevin", step_size=SIZES["langevin"][0])[0]
    return [
        _smaller(split, select(ends, sampler="hamiltonian")),
        _smaller(split, select(ends, sampler="langevin")),
        _same_step(ends),
        _factor("SGLD's perplexity is 1.5 times that of SGHMC-S or more", split, langevin),
        _factor(f"the same with SGLD at h = {slow['step_size']:g}, too small", split, slow),
        _explosion(ends),
        _near(split),
        _recovery(split),
    ]


def _ends(rows: list[Row]) -> list[Row]:
    return select(rows, documents=max(row["documents"] for row in rows))


def _best(mine: list[Row]) -> Row:
    return min((row for row in mine if not row["exploded"]), key=lambda row: row["perplexity"])


def _values(row: Row) -> tuple[float, float]:
    return row["perplexity"], row["perplexity_error"]


def _measured(row: Row) -> str:
    value, error = _values(row)
    return f"{value:.2f} ± {error:.2f} ({NAMES[row['sampler']]}, h = {row['step_size']:g})"


def _limit(row: Row) -> str:
    return f"{row['true']:.2f} with the true topics"


def _smaller(split: Row, others: list[Row]) -> Finding:
    """Judge the order at best step sizes: at all of the other sampler's that tie for the best."""
    sound = [row for row in others if not row["exploded"]]
    near = tied(column(sound, "perplexity"), column(sound, "perplexity_error"))
    best = [row for row, is_near in zip(sound, near, strict=True) if is_near]
    verdicts = {_order(split, row) for row in best}
    return Finding(
        f"SGHMC-S has a smaller perplexity than {NAMES[best[0]['sampler']]}, each at its best h",
        ", ".join(map(_measured, (split, *best))),
        _limit(split),
        decided(verdicts == {Verdict.HOLDS}, verdicts == {Verdict.FAILS}),
        None,
    )


def _order(split: Row, other: Row) -> Verdict:
    return below(*ratio(*_values(split), *_values(other)), 1.0)


def _same_step(ends: list[Row]) -> Finding:
    split, euler = (
        select(ends, sampler=name, step_size=BOTH)[0] for name in ("splitting", "hamiltonian")
    )
    return Finding(
        f"SGHMC-S has a smaller perplexity than SGHMC-E at h = {BOTH:g}",
        f"{_measured(split)}, {_measured(euler)}",
        _limit(split),
        _order(split, euler),
        None,
    )


def _factor(claim: str, split: Row, langevin: Row) -> Finding:
    value, error = ratio(*_values(langevin), *_values(split))
    measured = f"{value:.3f} ± {error:.3f} times ({_measured(langevin)})"
    return Finding(claim, measured, _limit(split), above(value, error, 1.5), None)


def _explosion(ends: list[Row]) -> Finding:
    (split,), (euler,) = (
        select(ends, sampler=name, step_size=LARGE) for name in ("splitting", "hamiltonian")
    )
    exploded = [row["exploded"] == row["chains"] for row in (split, euler)]
    survived = [row["exploded"] == 0 for row in (split, euler)]
    return Finding(
        f"SGHMC-E explodes at h = {LARGE:g} and SGHMC-S does not",
        f"{euler['exploded']} and {split['exploded']} of {split['chains']} chains exploded;"
        f" {_measured(split)}",
        f"SGHMC-E is unstable for D h > 2, h > {2 / FRICTION:g}",
        decided(exploded[1] and survived[0], exploded[0] or survived[1]),
        None,
    )


def _near(row: Row) -> Finding:
    value, error = _values(row)
    return Finding(
        "ours: the perplexity of SGHMC-S is within 1 % of that of the true topics",
        _measured(row),
        _limit(row),
        below(value / row["true"], error / row["true"], 1.01),
        None,
    )


def _recovery(row: Row) -> Finding:
    value, error = row["variation"], row["variation_error"]
    return Finding(
        "ours: SGHMC-S recovers the topics, to a total variation of 0.1 on average",
        f"{value:.3f} ± {error:.3f}",
        "0 with the true topics",
        below(value, error, 0.1),
        None,
    )


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    row = _ends(rows)[0]
    return [
        f"Ours: {row['documents']:,} documents of {LENGTH} words, simulated with {TOPICS} topics"
        f" over {WORDS} words (Dirichlet parameters {SHARE:g} and {SPARSE:g}), d ="
        f" {TOPICS * WORDS:,}; {TEST} test documents, half of whose words tell their topics while"
        f" the other half is scored. B = {BATCH} and one pass, {row['documents'] // BATCH:,}"
        f" transitions; {row['chains']} chains from random topics, each with its own order of the"
        f" documents; D = {FRICTION:.0f}, near the square root of the largest curvature. As each"
        " document is seen once, the topics of its words are drawn from scratch, by"
        f" {SWEEPS} sweeps of a collapsed Gibbs sampler, whose last {KEPT} give the gradient."
        " Predictions are averaged over the draws of a tenth of the pass; the table has the last"
        " tenth.",
        "",
        "The paper: as above. Its grid of h was the same for all samplers; ours has values for"
        " SGLD's own h, which acts as h / D in SGHMC where the friction is large. Nothing exact is"
        " known of one pass, so no deviations are given.",
    ]


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    ends, found = _ends(rows), []
    for name in NAMES:
        text = "; ".join(
            f"h = {row['step_size']:g}: {outcome(row, 'perplexity', 2)}"
            for row in select(ends, sampler=name)
        )
        found.append(f"{NAMES[name]}: {text}.")
    split, langevin = (_best(select(ends, sampler=name)) for name in ("splitting", "langevin"))
    factor = split["step_size"] / langevin["step_size"]
    return [
        *found,
        "A large error with a mean far from its neighbours' is that of single chains that have"
        " not found all topics.",
        f"SGLD's best h is {factor:.0f} times smaller than that of SGHMC-S. The paper's grid, the"
        " same for all samplers, spans a factor of 40, with D = 20 to 80. A grid without SGLD's"
        " best h would explain the paper's factor; we cannot tell on its data.",
    ]


def draw(rows: list[Row]) -> Any:
    """Draw the perplexity at the end against the step size, and along the pass."""
    figure, axes = panels(2)
    ends, width = _ends(rows), min(row["documents"] for row in rows)
    for number, name in enumerate(NAMES):
        mine = [row for row in select(ends, sampler=name) if not row["exploded"]]
        values = column(mine, "perplexity"), column(mine, "perplexity_error")
        points(axes[0], column(mine, "step_size"), *values, number, NAMES[name])
        for row, style in ((_best(mine), "-"), (mine[0], ":")):
            way = select(rows, sampler=name, step_size=row["step_size"])
            seen = (column(way, "documents") - width / 2) / 1_000
            line(axes[1], seen, column(way, "perplexity"), number, ls=style)
    for axis in axes:
        axis.axhline(rows[0]["true"], color="0.3", lw=1.3, zorder=1)
        axis.set_yscale("linear")
    axes[1].set_xscale("linear")
    label(axes[0], "At the end of the pass", "step size h", "perplexity")
    label(axes[1], "Along the pass, smallest h dotted", "thousands of documents", "perplexity")
    legend(figure, axes[0], 4, "true topics")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
