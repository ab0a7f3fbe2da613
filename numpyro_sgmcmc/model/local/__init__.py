"""Latent sites in a subsampled plate: each row has its own."""

from numpyro_sgmcmc.model.local.checks import check_rows
from numpyro_sgmcmc.model.local.density import JointPotential
from numpyro_sgmcmc.model.local.sites import Local, local_of

__all__ = ["JointPotential", "Local", "check_rows", "local_of"]
