"""A run on one page."""

from numpyro_sgmcmc.results.report.page import report

__all__ = ["report"]
