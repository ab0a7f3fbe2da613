"""A driver of NumPyro's `MCMC` for long runs."""

from numpyro_sgmcmc.driving.run import run
from numpyro_sgmcmc.driving.until import Until, until

__all__ = ["Until", "run", "until"]
