"""Stochastic-gradient MCMC as NumPyro kernels, for models with more data than NUTS can afford."""

from numpyro_sgmcmc.dynamics import Hamiltonian, Langevin, Splitting
from numpyro_sgmcmc.gradient import FixedPoint, Plain
from numpyro_sgmcmc.kernels import (
    SGHMC,
    SGLD,
    SGLDFP,
    SGMCMC,
    SGRRHMC,
    SGRRLD,
    RichardsonRomberg,
    SGHMCSplit,
)
from numpyro_sgmcmc.minibatch import ContiguousMinibatch, UniformMinibatch
from numpyro_sgmcmc.preconditioner import Dense, Diagonal, Identity
from numpyro_sgmcmc.results import Estimate, expectation, summary, to_inference_data
from numpyro_sgmcmc.schedule import cyclical, polynomial

__version__ = "0.1.0"

__all__ = [
    "SGHMC",
    "SGLD",
    "SGLDFP",
    "SGMCMC",
    "SGRRHMC",
    "SGRRLD",
    "ContiguousMinibatch",
    "Dense",
    "Diagonal",
    "Estimate",
    "FixedPoint",
    "Hamiltonian",
    "Identity",
    "Langevin",
    "Plain",
    "RichardsonRomberg",
    "SGHMCSplit",
    "Splitting",
    "UniformMinibatch",
    "cyclical",
    "expectation",
    "polynomial",
    "summary",
    "to_inference_data",
]
