"""Matplotlib plots for stochastic-gradient MCMC that ArviZ does not have."""

from numpyro_sgmcmc.results.plots.noise import plot_gradient_noise
from numpyro_sgmcmc.results.plots.running import plot_running_mean
from numpyro_sgmcmc.results.plots.steps import plot_step_size
from numpyro_sgmcmc.results.plots.temperature import plot_kinetic_temperature
from numpyro_sgmcmc.results.plots.walkers import plot_walkers

__all__ = [
    "plot_gradient_noise",
    "plot_kinetic_temperature",
    "plot_running_mean",
    "plot_step_size",
    "plot_walkers",
]
