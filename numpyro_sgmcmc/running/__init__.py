"""A finished run as a value, made from NumPyro's `MCMC`."""

from numpyro_sgmcmc.running.mcmc import run_of
from numpyro_sgmcmc.running.run import Run

__all__ = ["Run", "run_of"]
