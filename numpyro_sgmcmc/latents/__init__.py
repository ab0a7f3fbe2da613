"""Latents of rows, kept for all rows and moved when their row is visited."""

from numpyro_sgmcmc.latents.estimator import LatentTable
from numpyro_sgmcmc.latents.gibbs import redrawn, redrawn_everywhere
from numpyro_sgmcmc.latents.laplace import laplace_rows
from numpyro_sgmcmc.latents.plain import PlainAtLatents
from numpyro_sgmcmc.latents.state import LatentState, first_state

__all__ = [
    "LatentState",
    "LatentTable",
    "PlainAtLatents",
    "first_state",
    "laplace_rows",
    "redrawn",
    "redrawn_everywhere",
]
