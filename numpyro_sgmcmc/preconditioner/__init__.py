"""Preconditioners: linear maps S from the coordinates y of the dynamics to positions z = S y."""

from numpyro_sgmcmc.preconditioner.base import AbstractLinearMap, AbstractPreconditioner
from numpyro_sgmcmc.preconditioner.coupled import Coupled
from numpyro_sgmcmc.preconditioner.linear import Dense, Diagonal, Identity, check_preconditioner
from numpyro_sgmcmc.preconditioner.rmsprop import RMSProp

__all__ = [
    "AbstractLinearMap",
    "AbstractPreconditioner",
    "Coupled",
    "Dense",
    "Diagonal",
    "Identity",
    "RMSProp",
    "check_preconditioner",
]
