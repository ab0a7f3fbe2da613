"""Search on a budget for the numbers of a kernel, scored by a Stein discrepancy."""

from numpyro_sgmcmc.search.tune import Search, tune

__all__ = ["Search", "tune"]
