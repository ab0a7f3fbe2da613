"""NumPyro kernels: final classes, each of which combines parts of this package."""

from numpyro_sgmcmc.kernels.base import AbstractKernel
from numpyro_sgmcmc.kernels.extrapolated import SGRRHMC, SGRRLD
from numpyro_sgmcmc.kernels.extrapolation import walker_coefficients
from numpyro_sgmcmc.kernels.protocol import NumPyroKernel
from numpyro_sgmcmc.kernels.replica_exchange import ReplicaExchange
from numpyro_sgmcmc.kernels.richardson_romberg import (
    AbstractRichardsonRomberg,
    RichardsonRomberg,
)
from numpyro_sgmcmc.kernels.sghmc import SGHMC, SGHMCSplit
from numpyro_sgmcmc.kernels.sgld import SGLD, SGLDFP
from numpyro_sgmcmc.kernels.sgmclmc import SGMCLMC
from numpyro_sgmcmc.kernels.sgmcmc import SGMCMC
from numpyro_sgmcmc.kernels.sgnht import SGNHT
from numpyro_sgmcmc.kernels.stale_gradient import StaleGradient
from numpyro_sgmcmc.kernels.ubu import UBU
from numpyro_sgmcmc.kernels.variance_reduced import SAGALD, SVRGLD

__all__ = [
    "SAGALD",
    "SGHMC",
    "SGLD",
    "SGLDFP",
    "SGMCLMC",
    "SGMCMC",
    "SGNHT",
    "SGRRHMC",
    "SGRRLD",
    "SVRGLD",
    "UBU",
    "AbstractKernel",
    "AbstractRichardsonRomberg",
    "NumPyroKernel",
    "ReplicaExchange",
    "RichardsonRomberg",
    "SGHMCSplit",
    "StaleGradient",
    "walker_coefficients",
]
