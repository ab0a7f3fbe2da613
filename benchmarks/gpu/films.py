"""Figure 5 of Durmus et al. (2016) on a GPU: factorisation of film ratings.

Exact predictions are those of the Gibbs sampler in the CPU's table, of the same ratings.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from benchmarks.papers.common import load, select
from benchmarks.papers.p003_films import Films, movielens, simulated
from benchmarks.papers.p003_films_runs import together
from benchmarks.papers.p003_films_table import (
    LARGE,
    LARGEST,
    OURS,
    REAL,
    along,
    plans_of,
)
from benchmarks.papers.p003_films_untuned import Call, untuned

CHAINS = {REAL: 4, LARGE: 4, LARGEST: 2}
CALLS = {
    REAL: Call(batch=9_000, num_warmup=1_000, num_samples=200, chains=2),
    LARGE: Call(batch=90_000, num_warmup=1_000, num_samples=200, chains=2),
}
DATA: dict[str, Callable[[], Films]] = {
    REAL: movielens,
    LARGE: cache(partial(simulated, 3_883, 6_040, 1_000_209, 900_000)),
    LARGEST: cache(partial(simulated, 26_744, 138_493, 20_000_263, 18_000_000)),
}


def measured(name: str, is_trial: bool) -> list[dict[str, Any]]:
    """Return test errors along the runs of SGLD, SGRRLD, ours with h given, and ours untuned.

    A trial takes a few transitions of each, and leaves the untuned run out.
    """
    films = DATA[name]()
    plans, chains = plans_of(name), CHAINS[name]
    if is_trial:
        plans = {
            method: plan._replace(burn_in=10, transitions=30, thinning=5, records=2)
            for method, plan in plans.items()
        }
        chains = 2
    found = together(films, plans, chains)
    if name in CALLS and not is_trial:
        found[OURS] = untuned(films, CALLS[name])
    exact = select(load("p003_figure5"), data=name, kind="test error")[0]["exact"]
    rows = along(name, films, found, chains, exact)
    return [row | {"batch": CALLS[name].batch} if row["method"] == OURS else row for row in rows]
