"""Stochastic-gradient MCMC as NumPyro kernels, for models with more data than NUTS can afford."""

from numpyro_sgmcmc.distributed import AsyncMCMC
from numpyro_sgmcmc.driving import Until, run, until
from numpyro_sgmcmc.dynamics import ExactFriction, Hamiltonian, Langevin, NoseHoover, Splitting
from numpyro_sgmcmc.gradient import SAGA, SVRG, FixedPoint, Plain
from numpyro_sgmcmc.kernels import (
    SAGALD,
    SGHMC,
    SGLD,
    SGLDFP,
    SGMCMC,
    SGNHT,
    SGRRHMC,
    SGRRLD,
    SVRGLD,
    UBU,
    RichardsonRomberg,
    SGHMCSplit,
    StaleGradient,
)
from numpyro_sgmcmc.minibatch import (
    ContiguousMinibatch,
    ReshuffledMinibatch,
    SharedMinibatch,
    SweepMinibatch,
    UniformMinibatch,
    shuffle_rows,
)
from numpyro_sgmcmc.preconditioner import Dense, Diagonal, Identity, RMSProp
from numpyro_sgmcmc.results import (
    Estimate,
    class_probabilities,
    diagnose,
    expectation,
    interval,
    local_posterior,
    open_run,
    plot_gradient_noise,
    plot_kinetic_temperature,
    plot_running_mean,
    plot_step_size,
    plot_walkers,
    quantile,
    report,
    summary,
    thin_by_weight,
    to_inference_data,
)
from numpyro_sgmcmc.schedule import cyclical, polynomial
from numpyro_sgmcmc.search import Search, tune
from numpyro_sgmcmc.staleness import GeometricDelay, UniformDelay
from numpyro_sgmcmc.verdict import Diagnosis
from numpyro_sgmcmc.version import VERSION

__version__ = VERSION

__all__ = [
    "SAGA",
    "SAGALD",
    "SGHMC",
    "SGLD",
    "SGLDFP",
    "SGMCMC",
    "SGNHT",
    "SGRRHMC",
    "SGRRLD",
    "SVRG",
    "SVRGLD",
    "UBU",
    "AsyncMCMC",
    "ContiguousMinibatch",
    "Dense",
    "Diagnosis",
    "Diagonal",
    "Estimate",
    "ExactFriction",
    "FixedPoint",
    "GeometricDelay",
    "Hamiltonian",
    "Identity",
    "Langevin",
    "NoseHoover",
    "Plain",
    "RMSProp",
    "ReshuffledMinibatch",
    "RichardsonRomberg",
    "SGHMCSplit",
    "Search",
    "SharedMinibatch",
    "Splitting",
    "StaleGradient",
    "SweepMinibatch",
    "UniformDelay",
    "UniformMinibatch",
    "Until",
    "class_probabilities",
    "cyclical",
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
    "polynomial",
    "quantile",
    "report",
    "run",
    "shuffle_rows",
    "summary",
    "thin_by_weight",
    "to_inference_data",
    "tune",
    "until",
]
