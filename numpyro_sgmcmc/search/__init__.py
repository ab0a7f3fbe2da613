"""Search for step size and minibatch size on a budget, scored by a Stein discrepancy."""

from numpyro_sgmcmc.search.tune import Search, tune

__all__ = ["Search", "tune"]
