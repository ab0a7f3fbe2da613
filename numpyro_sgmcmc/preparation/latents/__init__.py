"""The preparation of a run whose model has latents of rows."""

from numpyro_sgmcmc.preparation.latents.checks import can_have_table
from numpyro_sgmcmc.preparation.latents.curvature import curvature_at_latents
from numpyro_sgmcmc.preparation.latents.noise import Walkers, noise_at_latents
from numpyro_sgmcmc.preparation.latents.potential import potential_of
from numpyro_sgmcmc.preparation.latents.prepare import prepare_with_latents, typical
from numpyro_sgmcmc.preparation.latents.sweep import second_order

__all__ = [
    "Walkers",
    "can_have_table",
    "curvature_at_latents",
    "noise_at_latents",
    "potential_of",
    "prepare_with_latents",
    "second_order",
    "typical",
]
