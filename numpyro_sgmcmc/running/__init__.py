"""A finished run of NumPyro's `MCMC`, as an immutable value."""

from numpyro_sgmcmc.running.mcmc import run_of
from numpyro_sgmcmc.running.outcome import Outcome, outcome_of, remember
from numpyro_sgmcmc.running.run import Run
from numpyro_sgmcmc.running.sampler import AbstractSampler

__all__ = ["AbstractSampler", "Outcome", "Run", "outcome_of", "remember", "run_of"]
