"""Latent sites in a subsampled plate: each row has its own."""

from numpyro_sgmcmc.model.local.checks import check_rows
from numpyro_sgmcmc.model.local.coordinates import weights_at
from numpyro_sgmcmc.model.local.density import JointPotential
from numpyro_sgmcmc.model.local.discrete import DiscreteSite, gibbs_sites, kept_discrete
from numpyro_sgmcmc.model.local.effects import Effect, effects_of_rows
from numpyro_sgmcmc.model.local.images import effects_of_images, images_of_rows
from numpyro_sgmcmc.model.local.sites import Local, local_of
from numpyro_sgmcmc.model.local.statistics import split_statistics, statistics

__all__ = [
    "DiscreteSite",
    "Effect",
    "JointPotential",
    "Local",
    "check_rows",
    "effects_of_images",
    "effects_of_rows",
    "gibbs_sites",
    "images_of_rows",
    "kept_discrete",
    "local_of",
    "split_statistics",
    "statistics",
    "weights_at",
]
