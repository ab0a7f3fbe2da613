"""Chains whose gradients are computed by workers, on Ray."""

from numpyro_sgmcmc.distributed.async_mcmc import AsyncMCMC

__all__ = ["AsyncMCMC"]
