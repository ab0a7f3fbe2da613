"""One-time work before a run: locate the posterior, measure its scale, choose the settings."""

from numpyro_sgmcmc.preparation.advice import duration, larger_minibatches, other_methods
from numpyro_sgmcmc.preparation.approximation import Approximation, point_count
from numpyro_sgmcmc.preparation.coupling import groups_of, rescaled
from numpyro_sgmcmc.preparation.first import first_states
from numpyro_sgmcmc.preparation.measure import curvatures
from numpyro_sgmcmc.preparation.noise import measured_noise
from numpyro_sgmcmc.preparation.options import Options
from numpyro_sgmcmc.preparation.passes import AbstractPasses
from numpyro_sgmcmc.preparation.pipeline import prepare
from numpyro_sgmcmc.preparation.prepared import Adaptation, Prepared
from numpyro_sgmcmc.preparation.request import Request
from numpyro_sgmcmc.preparation.target import Target, View, is_traced
from numpyro_sgmcmc.preparation.thresholds import TOLERANCE, WALKERS
from numpyro_sgmcmc.preparation.warn import warn_about_dropped_sites

__all__ = [
    "TOLERANCE",
    "WALKERS",
    "AbstractPasses",
    "Adaptation",
    "Approximation",
    "Options",
    "Prepared",
    "Request",
    "Target",
    "View",
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
    "rescaled",
    "warn_about_dropped_sites",
]
