"""One-time work before a run: locate the posterior, measure its scale, choose the settings."""

from numpyro_sgmcmc.preparation.advice import duration, larger_minibatches, other_methods
from numpyro_sgmcmc.preparation.approximation import Approximation, point_count
from numpyro_sgmcmc.preparation.coupling import groups_of
from numpyro_sgmcmc.preparation.first import first_states
from numpyro_sgmcmc.preparation.measure import curvature_at, curvatures
from numpyro_sgmcmc.preparation.mode_search import second_order
from numpyro_sgmcmc.preparation.noise import Noise, measured_noise
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.passes import AbstractPasses
from numpyro_sgmcmc.preparation.pipeline import prepare
from numpyro_sgmcmc.preparation.prepared import Adaptation, Prepared
from numpyro_sgmcmc.preparation.request import Request
from numpyro_sgmcmc.preparation.target import Target, View, is_traced
from numpyro_sgmcmc.preparation.thresholds import CURVATURE_POINTS, TOLERANCE, WALKERS
from numpyro_sgmcmc.preparation.warn import warn_about_dropped_sites

__all__ = [
    "CURVATURE_POINTS",
    "TOLERANCE",
    "WALKERS",
    "AbstractPasses",
    "Adaptation",
    "Approximation",
    "Noise",
    "Options",
    "Prepared",
    "Request",
    "Target",
    "View",
    "curvature_at",
    "curvatures",
    "duration",
    "first_states",
    "groups_of",
    "is_traced",
    "larger_minibatches",
    "measured_noise",
    "other_methods",
    "point_count",
    "prepare",
    "second_order",
    "warn_about_dropped_sites",
]
