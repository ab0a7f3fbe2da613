"""Results: ArviZ data, estimates and tables."""

from numpyro_sgmcmc.results.convert import to_inference_data
from numpyro_sgmcmc.results.diagnose import diagnose
from numpyro_sgmcmc.results.estimate import Estimate, expectation
from numpyro_sgmcmc.results.summary import summary

__all__ = ["Estimate", "diagnose", "expectation", "summary", "to_inference_data"]
