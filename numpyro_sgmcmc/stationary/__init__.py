"""Stationary variances of kernels on a Gaussian, from the dynamics' own recursion."""

from numpyro_sgmcmc.stationary.balance import balanced
from numpyro_sgmcmc.stationary.relative_variance import Ageing, relative_variance

__all__ = ["Ageing", "balanced", "relative_variance"]
