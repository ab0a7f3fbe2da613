"""Data of the models: synthetic ones from fixed seeds, real ones from packages."""

from benchmarks.calibration.data.arrays import Arrays, Split
from benchmarks.calibration.data.designs import (
    FAR,
    SCALES,
    horseshoe,
    scaled,
    separation,
    t3,
    uniform_bound,
)
from benchmarks.calibration.data.hierarchies import (
    GROUPS,
    aircraft,
    eight_schools,
    flights,
    groups,
    insteval,
    lkj_slopes,
    nested,
)
from benchmarks.calibration.data.latent import factor, gaussian_process
from benchmarks.calibration.data.regressions import (
    gaussian,
    logistic,
    military,
    poisson,
    student_t,
)
from benchmarks.calibration.data.responses import (
    BRANCHES,
    multinomial,
    negative_binomial,
    ordinal,
    quantile,
)
from benchmarks.calibration.data.wide import digits, movielens

__all__ = [
    "BRANCHES",
    "FAR",
    "GROUPS",
    "SCALES",
    "Arrays",
    "Split",
    "aircraft",
    "digits",
    "eight_schools",
    "factor",
    "flights",
    "gaussian",
    "gaussian_process",
    "groups",
    "horseshoe",
    "insteval",
    "lkj_slopes",
    "logistic",
    "military",
    "movielens",
    "multinomial",
    "negative_binomial",
    "nested",
    "ordinal",
    "poisson",
    "quantile",
    "scaled",
    "separation",
    "student_t",
    "t3",
    "uniform_bound",
]
