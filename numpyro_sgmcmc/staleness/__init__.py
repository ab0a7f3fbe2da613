"""Gradients taken at positions that are some transitions old, and remedies against their bias."""

from numpyro_sgmcmc.staleness.ageing import ageing
from numpyro_sgmcmc.staleness.delay import (
    AbstractDelay,
    FixedDelay,
    GeometricDelay,
    ScheduledDelay,
    UniformDelay,
)
from numpyro_sgmcmc.staleness.delay_of import delay_of
from numpyro_sgmcmc.staleness.gradient import (
    Past,
    StaleEstimate,
    StaleState,
    age_of,
    no_past,
)
from numpyro_sgmcmc.staleness.observed import ObservedDelay, observed
from numpyro_sgmcmc.staleness.options import Staleness
from numpyro_sgmcmc.staleness.remedy import (
    AbstractRemedy,
    CurvatureRemedy,
    FrictionRemedy,
    relative_curvature,
)

__all__ = [
    "AbstractDelay",
    "AbstractRemedy",
    "CurvatureRemedy",
    "FixedDelay",
    "FrictionRemedy",
    "GeometricDelay",
    "ObservedDelay",
    "Past",
    "ScheduledDelay",
    "StaleEstimate",
    "StaleState",
    "Staleness",
    "UniformDelay",
    "age_of",
    "ageing",
    "delay_of",
    "no_past",
    "observed",
    "relative_curvature",
]
