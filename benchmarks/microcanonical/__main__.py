"""Compare microcanonical dynamics with splitting SGHMC on a network and a factorisation.

From the root of the repository: ``python -m benchmarks.microcanonical [--quick] [NAME ...]``. It
prints a line a run, and writes `microcanonical.md` in `benchmarks/results/` unless quick.
"""

import argparse
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.calibration import references
from benchmarks.calibration.problems import PROBLEMS
from benchmarks.calibration.run import LOG_SCORE_BOUND
from benchmarks.microcanonical.dynamics import Microcanonical
from benchmarks.microcanonical.runs import Worth, worth
from benchmarks.microcanonical.settings import found
from numpyro_sgmcmc import Splitting

RESULT = Path(__file__).parents[1] / "results" / "microcanonical.md"
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
    "movielens": Grid(("adapted",), (1.0, 2.0, 4.0), (1.0, 0.25), 400, 25),
}
HEADER = (
    "| model | dynamics | scale | h | D | held-out log score - NUTS's | median ESS for 1,000"
    " gradients | smallest ESS | largest R-hat | right |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
)


def line(name: str, settings: tuple, one: Worth, away: float, right: bool) -> str:
    """Return a row of the table."""
    dynamics, scale, h, friction = settings
    cells = (
        f"{name} | {dynamics} | {scale} | {h:.2g} | {friction:.2g} | {away:+.4f} ±"
        f" {one.log_score_error:.4f} | {one.median_ess:.2f} | {one.smallest_ess:.2f} |"
        f" {one.largest_rhat:.3f} | {'yes' if right else 'no'}"
    )
    return f"| {cells} |"


def main() -> None:
    """Run the grids and write the table, and the best right setting of each dynamics."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(GRIDS))
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    lines, best = [], {}
    for name in given.names:
        problem, grid = PROBLEMS[name], GRIDS[name]
        if given.quick:
            grid = grid._replace(draws=20, num_steps=10, steps=(1.0,), frictions=(1.0,))
        reference, start = references.load(name), found(problem)
        for dynamics, scale, step, friction in product(
            DYNAMICS, grid.scales, grid.steps, grid.frictions
        ):
            h, d = step * start.step_size, friction * start.friction
            part = DYNAMICS[dynamics](d)
            one = worth(problem, start, part, scale, h, grid.draws, grid.num_steps)
            away = one.log_score - reference["log_score"]["value"]
            right = not one.diverged and abs(away) <= LOG_SCORE_BOUND
            row = line(name, (dynamics, scale, h, d), one, away, right)
            print(row, flush=True)
            lines.append(row)
            place = name, dynamics
            if right and one.median_ess > best.get(place, (0.0, ""))[0]:
                best[place] = one.median_ess, row
    chosen = "\n".join(row for _, row in best.values())
    text = f"The best of each that is right:\n\n{HEADER}{chosen}\n\nAll:\n\n{HEADER}"
    text += "\n".join(lines) + "\n"
    print(text)
    if not given.quick:
        RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
