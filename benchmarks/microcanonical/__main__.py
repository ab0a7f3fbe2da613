"""Compare microcanonical dynamics with splitting SGHMC on a network and a factorisation.

From the root of the repository: ``python -m benchmarks.microcanonical [--quick] [NAME ...]``. It
prints a line a run. Unless quick it puts the runs in the place of the models' former ones in
`microcanonical.csv` of `benchmarks/results/`, and writes `microcanonical.md` from this table.
"""

import argparse
from itertools import product
from typing import Any, NamedTuple

from benchmarks.calibration import references
from benchmarks.calibration.problems import PROBLEMS
from benchmarks.calibration.run import LOG_SCORE_BOUND
from benchmarks.microcanonical.dynamics import Microcanonical
from benchmarks.microcanonical.page import Run, line, load, page, save
from benchmarks.microcanonical.runs import worth
from benchmarks.microcanonical.settings import found
from numpyro_sgmcmc import Splitting

DYNAMICS: dict[str, Any] = {"splitting": Splitting, "microcanonical": Microcanonical}


class Grid(NamedTuple):
    """Settings that are tried: scales, and factors of the warm-up's step size and friction."""

    scales: tuple[str, ...]
    steps: tuple[float, ...]
    frictions: tuple[float, ...]
    draws: int
    num_steps: int


GRIDS = {
    "digits": Grid(("adapted", "noise"), (1.0, 2.0, 4.0, 8.0), (1.0, 0.25), 1_000, 20),
    "movielens": Grid(("adapted", "noise"), (1.0, 2.0, 4.0), (1.0, 0.25), 400, 25),
}


def runs_of(name: str, quick: bool) -> list[Run]:
    """Return the runs of a model, and print each when it has ended."""
    problem, grid = PROBLEMS[name], GRIDS[name]
    if quick:
        grid = grid._replace(draws=20, num_steps=10, steps=(1.0,), frictions=(1.0,))
    reference, start = references.load(name), found(problem)
    runs = []
    for dynamics, scale, step, friction in product(
        DYNAMICS, grid.scales, grid.steps, grid.frictions
    ):
        h, d = step * start.step_size, friction * start.friction
        part = DYNAMICS[dynamics](d)
        one = worth(problem, start, part, scale, h, grid.draws, grid.num_steps)
        away = one.log_score - reference["log_score"]["value"]
        right = not one.diverged and abs(away) <= LOG_SCORE_BOUND
        row = Run(
            model=name,
            dynamics=dynamics,
            scale=scale,
            h=h,
            friction=d,
            away=away,
            away_error=one.log_score_error,
            median_ess=one.median_ess,
            smallest_ess=one.smallest_ess,
            largest_rhat=one.largest_rhat,
            right="yes" if right else "no",
        )
        print(line(row), flush=True)
        runs.append(row)
    return runs


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
