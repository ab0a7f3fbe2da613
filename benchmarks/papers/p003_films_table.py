"""The table of figure 5 of Durmus et al. (2016): test errors of all methods along their runs."""

import numpy as np

from benchmarks.papers.common import Row, column, mean_and_error, select
from benchmarks.papers.p003_films import Films, movielens, simulated
from benchmarks.papers.p003_films_others import gibbs, least_squares, variational
from benchmarks.papers.p003_films_runs import GIVEN, KERNELS, TURNING, Course, Plan, together
from benchmarks.papers.p003_films_small import CHAINS as SMALL_CHAINS
from benchmarks.papers.p003_films_small import PLAN as SMALL_PLAN
from benchmarks.papers.p003_films_small import comparison, courses, small
from benchmarks.papers.p003_films_untuned import Call, untuned

OURS = "ours, untuned"
METHODS = ("SGLD", "SGRRLD", OURS, GIVEN, "mean field", "least squares", "Gibbs", TURNING)
NAMES = {"mean field": "mean-field normal"}
REAL, LARGE, LARGEST, SMALL = "MovieLens", "simulated 1M", "simulated 20M", "small"
FULL = "full-length simulated 1M"
"""The same ratings as `LARGE`, with the paper's step size and number of transitions."""
PLANS = {
    REAL: Plan(step_size=4e-5, batch=9_000, low=300, burn_in=125, transitions=2_625),
    LARGE: Plan(step_size=2e-5, batch=90_000, low=900, burn_in=50, transitions=1_050),
    FULL: Plan(step_size=2e-6, batch=90_000, low=900, thinning=50),
    LARGEST: Plan(2e-5, 36_000, 3_600, burn_in=100, transitions=2_100, thinning=50, records=8),
    SMALL: SMALL_PLAN,
}
GIVEN_PLANS = {
    REAL: PLANS[REAL]._replace(step_size=0.05),
    LARGE: PLANS[LARGE]._replace(step_size=0.05),
    FULL: PLANS[LARGE]._replace(step_size=0.05),
    LARGEST: Plan(0.05, 1_800_000, 3_600, burn_in=100, transitions=400, thinning=20, records=8),
}
"""B = N / 10 of all ratings, because gradient noise heats in proportion to h N / B."""
TURNING_PLANS = {
    LARGEST: Plan(0.4, 270_000, 3_600, burn_in=240, transitions=640, thinning=20, records=8)
}
"""Where minibatches of N / 10 take long."""
CALL = Call(batch=9_000, num_warmup=1_000, num_samples=400, chains=4)
"""On MovieLens."""
LARGE_CALL = Call(batch=90_000, num_warmup=5, num_samples=20, chains=2)
"""On `LARGE`, where the warm-up takes minutes however short its windows are, and a draw seconds."""
CALLS = {REAL: CALL, LARGE: LARGE_CALL}
CHAINS = 4
FEW_CHAINS = 2
"""Where chains take minutes."""
STEPS = 1_500
"""Of the mean-field approximation's optimisation."""


def of_small() -> list[Row]:
    """Return the rows of the small factorisation, with its comparison of predictions."""
    found = courses()
    shared = _shared(SMALL, small(), SMALL_CHAINS)
    compared = [
        shared | _settings(SMALL, row["method"]) | row | {"warmup": 0.0}
        for row in comparison(found)
    ]
    return [*along(SMALL, small(), found, SMALL_CHAINS), *compared]


def of_real() -> list[Row]:
    """Return the rows of MovieLens."""
    films = movielens()
    normal = variational(films, batch=9_000, steps=STEPS, records=8, chains=2, seed=0)
    found = together(films, plans_of(REAL), CHAINS) | {"mean field": normal}
    found |= classical(films, CHAINS, sweeps=200, burn_in=20) | {OURS: untuned(films, CALL)}
    return along(REAL, films, found, CHAINS)


def of_large() -> list[Row]:
    """Return the rows of simulated ratings of the shape of ML-1M, for two lengths of runs."""
    films = simulated(3_883, 6_040, 1_000_209, 900_000)
    found = together(films, plans_of(LARGE), CHAINS)
    normal = variational(films, batch=90_000, steps=STEPS, records=8, chains=2, seed=1)
    found |= classical(films, CHAINS, sweeps=100, burn_in=10) | {"mean field": normal}
    found |= {OURS: untuned(films, LARGE_CALL)}
    rows = along(LARGE, films, found, CHAINS)
    full = together(films, plans_of(FULL), FEW_CHAINS)
    return rows + along(FULL, films, full, FEW_CHAINS, exact=rows[0]["exact"])


def of_largest() -> list[Row]:
    """Return the rows of simulated ratings of the shape of ML-20M."""
    films = simulated(26_744, 138_493, 20_000_263, 18_000_000)
    found = together(films, plans_of(LARGEST), FEW_CHAINS)
    found |= classical(films, FEW_CHAINS, sweeps=14, burn_in=6, least=5)
    return along(LARGEST, films, found, FEW_CHAINS)


def plans_of(name: str) -> dict[str, Plan]:
    """Return the plans of the methods that run as the paper's do."""
    given = {GIVEN: GIVEN_PLANS, TURNING: TURNING_PLANS}
    own = {method: plans[name] for method, plans in given.items() if name in plans}
    return dict.fromkeys(KERNELS, PLANS[name]) | own


def classical(
    films: Films, chains: int, sweeps: int, burn_in: int, least: int = 15
) -> dict[str, Course]:
    """Return alternating least squares, and the exact Gibbs sampler."""
    return {
        "least squares": least_squares(films, chains=2, count=least, seed=3, records=6),
        "Gibbs": gibbs(films, chains, count=sweeps, burn_in=burn_in, seed=4, records=10),
    }


def along(
    name: str, films: Films, found: dict[str, Course], chains: int, exact: float | None = None
) -> list[Row]:
    """Return the test errors along the courses of all methods; `exact` in place of Gibbs's."""
    if exact is None:
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
                "warmup": course.warmup,
            }
            rows.append(_shared(name, films, chains) | _settings(name, method) | row)
    return rows


def _shared(name: str, films: Films, chains: int) -> Row:
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
    }


def _settings(name: str, method: str) -> Row:
    """Return a method's settings; those who have none take the paper's methods'."""
    plan = plans_of(name).get(method, PLANS[name]) if name != SMALL else PLANS[name]
    return {
        "step_size": 0.0 if method == OURS else plan.step_size,
        "batch": CALLS[name].batch if method == OURS else plan.batch,
        "burn_in": plan.burn_in,
        "transitions": plan.transitions,
    }


def cost(rows: list[Row]) -> np.ndarray:
    """Return seconds, or gradients of rows where the runs are too short for seconds."""
    return column(rows, "gradients" if rows[0]["data"] == SMALL else "seconds")


def last(rows: list[Row], method: str) -> Row:
    """Return what a method ends with."""
    return select(rows, method=method)[-1]
