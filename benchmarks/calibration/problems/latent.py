"""Latent curves and factors, and models whose predictions are compared."""

from functools import partial

from benchmarks.calibration import data, models, scores
from benchmarks.calibration.problems.problem import Problem, problem

LATENT = {
    "gaussian_process": problem("a curve by features, N = 5,000, d = 23", "gaussian_process", 500),
    "factor": problem("one factor of eight items, N = 1,500, d = 24", "factor", 150),
}

PREDICTED = {
    "movielens": Problem(
        "film ratings, rank 5, N = 73,749, d = 17,498",
        data.movielens,
        partial(models.factorisation, users=671, films=2_245),
        3_000,
        "movielens",
        predict=scores.film_ratings,
        squared=True,
    ),
    "digits": Problem(
        "digits, 50 hidden units, N = 1,437, d = 3,760",
        data.digits,
        models.network,
        100,
        "digits",
        predict=scores.digits,
        classify=scores.digit_classes,
    ),
}
