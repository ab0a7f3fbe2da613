"""The report: a run on one HTML page."""

from numpyro_sgmcmc.results.report.page import report

__all__ = ["report"]
