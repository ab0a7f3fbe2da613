"""How many gradients a verdict may cost."""

import numpy as np

from numpyro_sgmcmc.preparation import CURVATURE_POINTS
from numpyro_sgmcmc.verdict.run import FinishedRun
from numpyro_sgmcmc.verdict.thresholds import (
    DENSE,
    DRAWS_BY_DIMENSION,
    ENOUGH_ROWS,
    GRADIENT_NUMBERS,
    GRADIENT_POINTS,
    GRADIENT_ROWS,
    HESSIAN_COST,
    LANCZOS_STEPS,
    LARGE_NOISE,
    MORE_GRADIENT_NUMBERS,
    MORE_GRADIENT_POINTS,
    MOST_HESSIANS,
    SECOND_LOOK,
    SECOND_SHARE,
    SHARE_OF_ADVICE,
    SHARE_OF_RUN,
    SMALL_NOISE,
)


def is_dense(run: FinishedRun) -> bool:
    """Return whether there are few enough dimensions, and enough draws, for a covariance."""
    chains, draws, dimension = run.walkers[0].draws.shape
    return dimension <= DENSE and chains * draws >= DRAWS_BY_DIMENSION * dimension


def most_rows(run: FinishedRun, draws: float) -> int:
    """Return how many gradients of single rows may be computed after so many draws."""
    return max(GRADIENT_ROWS, int(SHARE_OF_RUN * draws * run.rows_of_draw), run.granted_rows)


def rows_for_hessian(run: FinishedRun, enough: float) -> int:
    """Return the gradients of single rows to grant before the first look; 0 where it needs none.

    A first look whose gradients have too much noise would only ask for a second one. It takes what
    a short run's second look may, if that affords control variates of second order.

    Args:
        run: what is judged.
        enough: rows that leave an estimate of first order hardly any noise; infinite if not known.
    """
    draws = run.weights.size
    most = most_rows(run, draws)
    each = most // most_points(run, draws)
    noise = SMALL_NOISE * enough / each  # relative to the gradient's own variance
    is_noisy = LARGE_NOISE < noise < np.inf and each < run.rows and is_dense(run)
    cost = 2 * HESSIAN_COST * run.rows * run.walkers[0].draws.shape[2]
    granted = SECOND_LOOK * GRADIENT_ROWS
    return granted if is_noisy and most < cost <= granted else 0


def rows_worth_granting(run: FinishedRun, more_draws: int) -> int:
    """Return how many gradients of single rows to compute before so many more draws are asked for.

    It is 0 where gradients are exact already, or would hardly be better known. So that a verdict
    stays short, it is at most a share of what the run took, or a multiple of the usual minimum.
    """
    draws = run.weights.size
    worth = int(SHARE_OF_ADVICE * more_draws * run.rows_of_draw)
    taken = draws * run.rows_of_draw
    short = int(max(SECOND_LOOK * GRADIENT_ROWS, SECOND_SHARE * taken))
    granted = min(worth, short, draws * run.rows)
    return granted if granted >= 2 * most_rows(run, draws) else 0


def most_points(run: FinishedRun, draws: float) -> int:
    """Return at how many of so many draws the gradient is evaluated at most."""
    dimension = run.walkers[0].draws.shape[2]
    numbers = dimension * len(run.walkers)
    least = max(GRADIENT_POINTS, 6 * dimension if is_dense(run) else 0)
    affordable = min(
        MORE_GRADIENT_POINTS,
        most_rows(run, draws) // min(run.rows, ENOUGH_ROWS),
        MORE_GRADIENT_NUMBERS // numbers,
    )
    affordable = affordable if run.is_mixed else 0  # more would not change the outcome
    return min(max(least, affordable), max(GRADIENT_NUMBERS // numbers, 2))


def growth_of_points(run: FinishedRun, factor: float, time: float) -> float:
    """Return how many times as much gradients tell after `factor` times as many draws.

    Where there are more draws than gradients, the gradients are those of draws further apart.

    Args:
        run: what is judged.
        factor: times as many draws.
        time: draws that one independent draw takes.
    """
    draws = run.weights.size
    now, then = (
        independent_points(min(most_points(judged, count), count), count, time)
        for judged, count in ((run, draws), (run._replace(is_mixed=True), factor * draws))
    )
    return then / now


def independent_points(points: float, draws: float, time: float) -> float:
    """Return how many independent draws tell as much as points spread evenly over correlated ones.

    Draws whose autocorrelation falls as r^k over k draws have the time (1 + r) / (1 - r). Of those
    that are draws / points apart, it falls as a power of r^(draws / points).
    """
    apart = max((time - 1) / (time + 1), 0.0) ** (draws / points)
    return points * (1 - apart) / (1 + apart)


def hessian_points(run: FinishedRun) -> int:
    """Return over how many draws the Hessian is averaged in the search for soft directions."""
    each = HESSIAN_COST * LANCZOS_STEPS * min(run.rows, ENOUGH_ROWS)
    affordable = most_rows(run, run.weights.size) // (2 * each)  # half is left to gradients
    return int(min(max(affordable, CURVATURE_POINTS), MOST_HESSIANS))
