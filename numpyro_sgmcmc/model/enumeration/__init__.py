"""Discrete latent sites, summed out of the density."""

from numpyro_sgmcmc.model.enumeration.checks import TooManyStates, checked
from numpyro_sgmcmc.model.enumeration.components import Component, components_of
from numpyro_sgmcmc.model.enumeration.density import (
    log_joint,
    log_marginals,
    probabilities,
    site_densities,
)
from numpyro_sgmcmc.model.enumeration.factors import Factor, Trace, factors_of
from numpyro_sgmcmc.model.enumeration.sites import (
    Enumeration,
    UnknownStates,
    enumerable,
    enumerated,
)

__all__ = [
    "Component",
    "Enumeration",
    "Factor",
    "TooManyStates",
    "Trace",
    "UnknownStates",
    "checked",
    "components_of",
    "enumerable",
    "enumerated",
    "factors_of",
    "log_joint",
    "log_marginals",
    "probabilities",
    "site_densities",
]
