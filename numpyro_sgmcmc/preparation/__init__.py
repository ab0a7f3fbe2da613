"""One-time work before a run: where the posterior lies, how wide it is, and sound numbers."""

from numpyro_sgmcmc.preparation.ahead import compile_ahead
from numpyro_sgmcmc.preparation.approximation import (
    Approximation,
    is_sound,
    laplace,
    laplace_at,
    mean_field,
)
from numpyro_sgmcmc.preparation.limits import TOLERANCE, suggested_friction, with_friction
from numpyro_sgmcmc.preparation.measure import Curvature, Noise, curvatures
from numpyro_sgmcmc.preparation.mode import (
    DENSE_DIMENSION,
    Mode,
    describe,
    find_mode,
    is_dense,
    principal_axes,
)
from numpyro_sgmcmc.preparation.target import Target, View, concretely, is_traced
from numpyro_sgmcmc.preparation.tuning import (
    Adaptation,
    Tuned,
    Wishes,
    as_correction,
    candidate_gradients,
    measured_noise,
)
from numpyro_sgmcmc.preparation.warmup import POINTS, WarmedUp, anchor_at, warm_up

__all__ = [
    "DENSE_DIMENSION",
    "POINTS",
    "TOLERANCE",
    "Adaptation",
    "Approximation",
    "Curvature",
    "Mode",
    "Noise",
    "Target",
    "Tuned",
    "View",
    "WarmedUp",
    "Wishes",
    "anchor_at",
    "as_correction",
    "candidate_gradients",
    "compile_ahead",
    "concretely",
    "curvatures",
    "describe",
    "find_mode",
    "is_dense",
    "is_sound",
    "is_traced",
    "laplace",
    "laplace_at",
    "mean_field",
    "measured_noise",
    "principal_axes",
    "suggested_friction",
    "warm_up",
    "with_friction",
]
