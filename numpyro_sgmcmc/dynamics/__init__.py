"""Dynamics: discretised diffusions, which return displacements and do not use the position."""

from numpyro_sgmcmc.dynamics.base import AbstractDynamics
from numpyro_sgmcmc.dynamics.exact_friction import ExactFriction
from numpyro_sgmcmc.dynamics.hamiltonian import Hamiltonian
from numpyro_sgmcmc.dynamics.langevin import Langevin
from numpyro_sgmcmc.dynamics.microcanonical import Microcanonical
from numpyro_sgmcmc.dynamics.nose_hoover import NoseHoover
from numpyro_sgmcmc.dynamics.splitting import Splitting

__all__ = [
    "AbstractDynamics",
    "ExactFriction",
    "Hamiltonian",
    "Langevin",
    "Microcanonical",
    "NoseHoover",
    "Splitting",
]
