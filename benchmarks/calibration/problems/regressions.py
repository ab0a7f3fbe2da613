"""Regressions: tall ones, awkward designs, and other responses than numbers."""

from benchmarks.calibration import data, models
from benchmarks.calibration.problems.problem import NOT_COMPARED, Problem, problem

TALL = {
    "logistic": problem("logistic regression, N = 100,000, d = 21", "logistic", 500),
    "military": Problem(
        "officers, logistic, N = 1,414,593, d = 12",
        data.military,
        models.logistic,
        1_000,
        "military",
    ),
    "poisson": problem("Poisson regression, N = 50,000, d = 9", "poisson", 500),
    "student_t": problem("Student-t regression, N = 20,000, d = 13", "student_t", 500),
    "gaussian": problem("Gaussian, condition 10,000, N = 10,000, d = 50", "gaussian", 1_000),
}

DESIGNS = {
    "uniform_bound": problem("weights at bounds, N = 5,000, d = 5", "uniform_bound", 500),
    "separation": problem("logistic, a separated column, N = 5,000, d = 7", "separation", 500),
    "t3": problem("features with t3 tails, N = 20,000, d = 12", "t3", 500),
    "scaled": problem(
        "columns of scales 1e-4 to 1e4, N = 10,000, d = 11", "scaled", 500, double=True
    ),
    # A local scale has no mean: all scales far beyond the slab's leave one posterior density.
    "horseshoe": problem(
        "regularised horseshoe, N = 2,000, d = 404",
        "horseshoe",
        500,
        places={"local": NOT_COMPARED, "slab": NOT_COMPARED},
    ),
}

RESPONSES = {
    "quantile": problem("regression of a quantile, N = 5,000, d = 8", "quantile", 500),
    "ordinal": problem("ordered classes, N = 20,000, d = 10", "ordinal", 500),
    "negative_binomial": problem(
        "negative binomial regression, N = 20,000, d = 10", "negative_binomial", 500
    ),
    "multinomial": problem("branches, four classes, N = 1,414,593, d = 33", "multinomial", 1_000),
}
