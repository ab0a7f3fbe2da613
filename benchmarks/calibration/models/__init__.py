"""The models. Each has one plate over rows; `subsample_size=None` is all of them."""

from benchmarks.calibration.models.designs import horseshoe, scaled, separation, t3, uniform_bound
from benchmarks.calibration.models.hierarchies import (
    centred,
    eight_schools,
    eight_schools_non_centred,
    insteval,
    lkj_slopes,
    nested,
    non_centred,
)
from benchmarks.calibration.models.latent import factor, gaussian_process
from benchmarks.calibration.models.regressions import gaussian, logistic, poisson, student_t
from benchmarks.calibration.models.responses import (
    multinomial,
    negative_binomial,
    ordinal,
    quantile,
)
from benchmarks.calibration.models.wide import classes, factorisation, network, ratings

__all__ = [
    "centred",
    "classes",
    "eight_schools",
    "eight_schools_non_centred",
    "factor",
    "factorisation",
    "gaussian",
    "gaussian_process",
    "horseshoe",
    "insteval",
    "lkj_slopes",
    "logistic",
    "multinomial",
    "negative_binomial",
    "nested",
    "network",
    "non_centred",
    "ordinal",
    "poisson",
    "quantile",
    "ratings",
    "scaled",
    "separation",
    "student_t",
    "t3",
    "uniform_bound",
]
