"""A factorisation so small that both methods forget their starts: their bias of predictions."""

import numpy as np

from benchmarks.papers.common import Row, mean_and_error
from benchmarks.papers.p003_films import Films, simulated
from benchmarks.papers.p003_films_others import gibbs
from benchmarks.papers.p003_films_runs import KERNELS, Course, Plan, Sampler

PLAN = Plan(step_size=4e-3, batch=90, low=30)
CHAINS = 32
COMPARED = 20
"""Test ratings whose predictions are compared one by one.

A mean of 32 chains is beyond four of its standard errors by chance with 4e-4, and one of 20 means
with 0.7 %. Keys are fixed.
"""


def small() -> Films:
    """Return 1,000 ratings by 50 users of 40 films, of rank 3; 900 are to be fitted."""
    return simulated(40, 50, 1_000, 900, 3, 0.3)


def courses() -> dict[str, Course]:
    """Return running means of both methods and of the exact Gibbs sampler."""
    found = {
        method: Sampler(small(), PLAN, method)(CHAINS, number)
        for number, method in enumerate(KERNELS)
    }
    return found | {"Gibbs": gibbs(small(), chains=8, count=2_200, burn_in=200, seed=2, records=8)}


def comparison(found: dict[str, Course]) -> list[Row]:
    """Return predictions beside the Gibbs sampler's, and the mean squared bias over all of them."""
    exact, exact_error = mean_and_error(found["Gibbs"].mean)
    rows = []
    for method in KERNELS:
        value, error = mean_and_error(found[method].mean)
        columns = zip(value, np.hypot(error, exact_error), exact, strict=True)
        rows += [
            _row(method, "prediction", place, *map(float, each))
            for place, each in enumerate(columns)
            if place < COMPARED
        ]
        squared = squared_bias(found[method].mean - exact, float(np.mean(exact_error**2)))
        rows.append(_row(method, "squared bias", 0, *squared, 0.0))
    return rows


def _row(method: str, kind: str, place: int, measured: float, error: float, exact: float) -> Row:
    return {
        "method": method,
        "kind": kind,
        "place": place,
        "measured": measured,
        "error": error,
        "exact": exact,
        "seconds": 0.0,
        "gradients": 0,
    }


def squared_bias(away: np.ndarray, known: float) -> tuple[float, float]:
    """Return the mean over columns of the squared mean of `away`, (chains, T), and its error.

    Products of different chains have that mean without the variance of a mean over chains. What the
    reference's own variance adds, `known`, is taken off. The error is a jackknife's.
    """

    def pairs(chains: np.ndarray) -> float:
        count = len(chains)
        products = chains.sum(0) ** 2 - (chains**2).sum(0)
        return float(products.mean() / (count * (count - 1)))

    count = len(away)
    without = np.array([pairs(np.delete(away, chain, axis=0)) for chain in range(count)])
    return pairs(away) - known, float(np.sqrt((count - 1) * without.var()))
