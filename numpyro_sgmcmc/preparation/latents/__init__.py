"""The preparation of a run whose model has latents of rows."""

from numpyro_sgmcmc.preparation.latents.noise import Walkers, table_noise
from numpyro_sgmcmc.preparation.latents.potential import potential_of
from numpyro_sgmcmc.preparation.latents.prepare import prepare_with_latents, typical
from numpyro_sgmcmc.preparation.latents.sweep import second_order

__all__ = [
    "Walkers",
    "potential_of",
    "prepare_with_latents",
    "second_order",
    "table_noise",
    "typical",
]
