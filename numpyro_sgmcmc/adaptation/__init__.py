"""One-time work before a run: a mode to anchor at, measured curvature and noise, sound numbers."""

from numpyro_sgmcmc.adaptation.measure import curvatures
from numpyro_sgmcmc.adaptation.mode import Mode, describe, find_mode, principal_axes
from numpyro_sgmcmc.adaptation.target import Target, View
from numpyro_sgmcmc.adaptation.tuning import (
    Adaptation,
    Tuned,
    candidate_gradients,
    laplace_preconditioner,
    suggested_friction,
    tune,
    with_friction,
)

__all__ = [
    "Adaptation",
    "Mode",
    "Target",
    "Tuned",
    "View",
    "candidate_gradients",
    "curvatures",
    "describe",
    "find_mode",
    "laplace_preconditioner",
    "principal_axes",
    "suggested_friction",
    "tune",
    "with_friction",
]
