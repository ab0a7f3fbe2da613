"""The table of figure 5 of Durmus et al. (2016): test errors of all methods along their runs."""

import numpy as np

from benchmarks.papers.common import Row, column, mean_and_error, select
from benchmarks.papers.p003_films import Films, movielens, simulated
from benchmarks.papers.p003_films_others import gibbs, least_squares, variational
from benchmarks.papers.p003_films_runs import Course, Plan, both
from benchmarks.papers.p003_films_small import CHAINS as SMALL_CHAINS
from benchmarks.papers.p003_films_small import PLAN as SMALL_PLAN
from benchmarks.papers.p003_films_small import comparison, courses, small

METHODS = ("SGLD", "SGRRLD", "mean field", "least squares", "Gibbs")
NAMES = {"mean field": "mean-field normal"}
REAL, LARGE, SMALL = "MovieLens", "simulated", "small"
PLANS = {
    REAL: Plan(step_size=4e-5, batch=9_000, low=300, burn_in=125, transitions=2_625),
    LARGE: Plan(step_size=2e-5, batch=90_000, low=900, burn_in=50, transitions=1_050),
    SMALL: SMALL_PLAN,
}
CHAINS = 4
STEPS = 1_500
"""Of the mean-field approximation's optimisation."""


def of_small() -> list[Row]:
    """Return the rows of the small factorisation, with its comparison of predictions."""
    found = courses()
    compared = [_shared(SMALL, small(), SMALL_CHAINS) | row for row in comparison(found)]
    return [*along(SMALL, small(), found, SMALL_CHAINS), *compared]


def of_real() -> list[Row]:
    """Return the rows of MovieLens."""
    films = movielens()
    normal = variational(films, batch=9_000, steps=STEPS, records=8, chains=2, seed=0)
    found = both(films, PLANS[REAL], CHAINS) | {"mean field": normal}
    return along(REAL, films, found | classical(films, sweeps=200), CHAINS)


def of_large() -> list[Row]:
    """Return the rows of simulated ratings of the shape of ML-1M."""
    films = simulated(3_883, 6_040, 1_000_209, 900_000)
    found = both(films, PLANS[LARGE], CHAINS)
    return along(LARGE, films, found | classical(films, sweeps=100), CHAINS)


def classical(films: Films, sweeps: int) -> dict[str, Course]:
    """Return alternating least squares, and the exact Gibbs sampler."""
    return {
        "least squares": least_squares(films, chains=2, count=15, seed=3, records=6),
        "Gibbs": gibbs(films, CHAINS, count=sweeps, burn_in=sweeps // 10, seed=4, records=10),
    }


def along(name: str, films: Films, found: dict[str, Course], chains: int) -> list[Row]:
    """Return the test errors along the courses of all methods."""
    exact = float(found["Gibbs"].error[:, -1].mean())
    rows = []
    for method, course in found.items():
        value, error = mean_and_error(course.error)
        columns = value, error, course.seconds, course.gradients
        for place, (rmse, spread, seconds, gradients) in enumerate(zip(*columns, strict=True)):
            row = {
                "method": method,
                "kind": "test error",
                "place": place,
                "measured": float(rmse),
                "error": float(spread),
                "exact": exact,
                "seconds": float(seconds),
                "gradients": int(gradients),
            }
            rows.append(_shared(name, films, chains) | row)
    return rows


def _shared(name: str, films: Films, chains: int) -> Row:
    plan = PLANS[name]
    return {
        "data": name,
        "N": len(films.rating),
        "tests": len(films.test_rating),
        "films": films.shape[0],
        "users": films.shape[1],
        "rank": films.rank,
        "spread": float(films.test_rating.std()),
        "floor": 0.0 if films.noiseless is None else float(films.error(films.noiseless)),
        "chains": chains,
        "step_size": plan.step_size,
        "batch": plan.batch,
        "burn_in": plan.burn_in,
        "transitions": plan.transitions,
    }


def cost(rows: list[Row]) -> np.ndarray:
    """Return seconds, or gradients of rows where the runs are too short for seconds."""
    return column(rows, "gradients" if rows[0]["data"] == SMALL else "seconds")


def last(rows: list[Row], method: str) -> Row:
    """Return what a method ends with."""
    return select(rows, method=method)[-1]
