"""Compare microcanonical dynamics with splitting SGHMC on a network and a factorisation.

From the root of the repository: ``python -m benchmarks.microcanonical [--quick] [NAME ...]``. It
prints a line a run. Unless quick it puts the runs in the place of the models' former ones in
`microcanonical.csv` of `benchmarks/results/`, and writes `microcanonical.md` from this table.
"""

import argparse
from itertools import product
from typing import Any, NamedTuple

from benchmarks.calibration import references
from benchmarks.calibration.problems import PROBLEMS, Problem
from benchmarks.calibration.run import LOG_SCORE_BOUND
from benchmarks.microcanonical.climb import Setting, climbed
from benchmarks.microcanonical.dynamics import Microcanonical
from benchmarks.microcanonical.page import Run, line, load, page, save
from benchmarks.microcanonical.runs import worth
from benchmarks.microcanonical.settings import Found, found
from numpyro_sgmcmc import Splitting

DYNAMICS: dict[str, Any] = {"splitting": Splitting, "microcanonical": Microcanonical}


class Grid(NamedTuple):
    """Settings that are tried first: scales, and factors of the warm-up's h and D."""

    scales: tuple[str, ...]
    steps: tuple[float, ...]
    frictions: tuple[float, ...]
    draws: int
    num_steps: int


# Draws that are k transitions apart show at most 1,000 / k effective draws for 1,000 gradients.
# On the ratings the scale "noise" was the worse one in an earlier grid.
GRIDS = {
    "digits": Grid(("adapted", "noise"), (4.0,), (1.0, 0.25), 4_000, 5),
    "movielens": Grid(("adapted",), (0.5,), (1.0, 4.0), 400, 25),
}


def runs_of(name: str, quick: bool) -> list[Run]:
    """Return the runs of a model: those of the grid, and those of the search that starts there."""
    problem, grid = PROBLEMS[name], GRIDS[name]
    if quick:
        grid = grid._replace(draws=20, num_steps=10, steps=(1.0,), frictions=(1.0,))
    score, start = references.load(name)["log_score"]["value"], found(problem)
    runs = []
    for dynamics, scale in product(DYNAMICS, grid.scales):

        def run(setting: Setting, dynamics: str = dynamics, scale: str = scale) -> Run:
            return _run(problem, name, start, score, grid, dynamics, scale, setting)

        settings = [
            Setting(step * start.step_size, friction * start.friction)
            for step, friction in product(grid.steps, grid.frictions)
        ]
        runs += [run(setting) for setting in settings] if quick else climbed(settings, run)
    return runs


def _run(
    problem: Problem,
    name: str,
    start: Found,
    score: float,
    grid: Grid,
    dynamics: str,
    scale: str,
    setting: Setting,
) -> Run:
    """Return a run, and print it."""
    part = DYNAMICS[dynamics](setting.friction)
    one = worth(problem, start, part, scale, setting.h, grid.draws, grid.num_steps)
    away = one.log_score - score
    right = not one.diverged and abs(away) <= LOG_SCORE_BOUND
    row = Run(
        model=name,
        dynamics=dynamics,
        scale=scale,
        h=setting.h,
        friction=setting.friction,
        away=away,
        away_error=one.log_score_error,
        median_ess=one.median_ess,
        smallest_ess=one.smallest_ess,
        largest_rhat=one.largest_rhat,
        right="yes" if right else "no",
    )
    print(line(row), flush=True)
    return row


def main() -> None:
    """Run the grids and write the table, the best right settings and what they decide."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(GRIDS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--redraw", action="store_true", help="the page from the table, no runs")
    given = parser.parse_args()
    names = [] if given.redraw else given.names
    every = [run for name in names for run in runs_of(name, given.quick)]
    if not given.quick:
        every += [run for run in load() if run.model not in names]
        every.sort(key=lambda run: list(GRIDS).index(run.model))
        save(every)
    print(page(every))


if __name__ == "__main__":
    main()
