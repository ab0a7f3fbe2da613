"""Compare microcanonical dynamics with splitting SGHMC on a network and a factorisation.

From the root of the repository: ``python -m benchmarks.microcanonical [--quick] [--fine] [NAME
...] [--dynamics NAME ...]``. It prints a line a run. The first search runs each setting with one
key; `--fine` starts at the best settings of the first and runs each with several other keys. Unless
quick it puts the runs in the place of the models' former ones of the same search in
`microcanonical.csv` of `benchmarks/results/`, and writes `microcanonical.md` from this table.
"""

import argparse
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product

from benchmarks.microcanonical.climb import Setting, climbed
from benchmarks.microcanonical.judge import DYNAMICS, Judge, Length
from benchmarks.microcanonical.page import COARSE, FINE, Run, load, page, ranked, save

SCALES = {"digits": ("adapted", "noise"), "movielens": ("adapted",)}
"""On the ratings the scale "noise" was the worse one in an earlier grid."""
FACTORS = {"digits": (4.0, (1.0, 0.25)), "movielens": (0.5, (1.0, 4.0))}
"""Factors of the warm-up's step size and friction at which the first search starts."""

# Draws that are k transitions apart show at most 1,000 / k effective draws for 1,000 gradients.
ONCE = {"digits": Length(4_000, 5, (2,)), "movielens": Length(400, 25, (2,))}
AGAIN = {"digits": Length(6_000, 2, (3, 4, 5)), "movielens": Length(1_200, 25, (3, 4, 5))}
QUICK = Length(20, 10, (2,))


def first(judge: Judge, dynamics: str, quick: bool) -> list[Run]:
    """Return the runs of the first search, which starts near the warm-up's settings."""
    step, frictions = FACTORS[judge.name]
    start = judge.start
    settings = [Setting(step * start.step_size, each * start.friction) for each in frictions]
    runs = []
    for scale in SCALES[judge.name]:
        run = judge.of(dynamics, scale, QUICK if quick else ONCE[judge.name])
        runs += [run(settings[0])] if quick else climbed(settings, COARSE, run)
    return runs


def second(judge: Judge, dynamics: str, quick: bool) -> list[Run]:
    """Return the runs of the second search, which starts at the best setting of the first."""
    length = AGAIN[judge.name]
    if quick:
        length = QUICK._replace(seeds=length.seeds)
    wrong: list[Run] = []
    # A setting at the limit of stability can be right with one key and wrong with another.
    for start in ranked([run for run in load() if run.keys == 1], judge.name, dynamics):
        run = cache(judge.of(dynamics, start.scale, length))
        setting = Setting(start.h, start.friction)
        tried = run(setting)
        if quick:
            return [tried]
        if tried.right == "yes":
            return wrong + climbed([setting], FINE, run)
        wrong.append(tried)
    raise ValueError(f"{judge.name}, {dynamics}: no setting of the first search is right.")


def searches(
    names: list[str],
    search: Callable[[Judge, str, bool], list[Run]],
    which: list[str],
    quick: bool,
) -> Iterator[list[Run]]:
    """Yield the runs of a model and dynamics after each search."""
    for name in names:
        judge = Judge(name)
        for dynamics in which:
            yield search(judge, dynamics, quick)


def replaced(runs: list[Run]) -> list[Run]:
    """Return the table with these runs in the place of those of the same search."""
    (which,) = {(run.model, run.dynamics, run.keys > 1) for run in runs}
    kept = [run for run in load() if (run.model, run.dynamics, run.keys > 1) != which]
    order = list(product(SCALES, (False, True), DYNAMICS))
    return sorted(kept + runs, key=lambda run: order.index((run.model, run.keys > 1, run.dynamics)))


def main() -> None:
    """Run a search and write the table, the best right settings and what they decide."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SCALES))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--fine", action="store_true", help="the second search")
    parser.add_argument("--redraw", action="store_true", help="the page from the table, no runs")
    parser.add_argument("--dynamics", nargs="*", default=list(DYNAMICS), choices=list(DYNAMICS))
    given = parser.parse_args()
    every = load()
    if given.redraw:
        save(every)
    else:
        search = second if given.fine else first
        for runs in searches(given.names, search, given.dynamics, given.quick):
            every = runs if given.quick else replaced(runs)
            if not given.quick:
                save(every)
    print(page(every))


if __name__ == "__main__":
    main()
