"""Results: ArviZ data, estimates, tables, plots and a report."""

from numpyro_sgmcmc.results.class_probabilities import class_probabilities
from numpyro_sgmcmc.results.convert import to_inference_data
from numpyro_sgmcmc.results.diagnose import diagnose
from numpyro_sgmcmc.results.estimate import Estimate, expectation
from numpyro_sgmcmc.results.local_posterior import local_posterior
from numpyro_sgmcmc.results.open_run import open_run
from numpyro_sgmcmc.results.plots import (
    plot_gradient_noise,
    plot_kinetic_temperature,
    plot_running_mean,
    plot_step_size,
    plot_walkers,
)
from numpyro_sgmcmc.results.quantile import interval, quantile
from numpyro_sgmcmc.results.report import report
from numpyro_sgmcmc.results.summary import summary
from numpyro_sgmcmc.results.thin import thin_by_weight

__all__ = [
    "Estimate",
    "class_probabilities",
    "diagnose",
    "expectation",
    "interval",
    "local_posterior",
    "open_run",
    "plot_gradient_noise",
    "plot_kinetic_temperature",
    "plot_running_mean",
    "plot_step_size",
    "plot_walkers",
    "quantile",
    "report",
    "summary",
    "thin_by_weight",
    "to_inference_data",
]
