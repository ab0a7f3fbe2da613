"""A run as a value, whatever drove it: NumPyro's `MCMC` today."""

from numpyro_sgmcmc.running.mcmc import run_of
from numpyro_sgmcmc.running.run import Run

__all__ = ["Run", "run_of"]
