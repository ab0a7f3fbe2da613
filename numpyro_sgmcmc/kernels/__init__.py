"""NumPyro kernels: final classes that choose parts."""

from numpyro_sgmcmc.kernels.base import AbstractKernel
from numpyro_sgmcmc.kernels.protocol import NumPyroKernel
from numpyro_sgmcmc.kernels.richardson_romberg import (
    SGRRHMC,
    SGRRLD,
    AbstractRichardsonRomberg,
    RichardsonRomberg,
)
from numpyro_sgmcmc.kernels.sghmc import SGHMC, SGNHT, SGHMCSplit
from numpyro_sgmcmc.kernels.sgld import SAGALD, SGLD, SGLDFP, SVRGLD
from numpyro_sgmcmc.kernels.sgmcmc import SGMCMC

__all__ = [
    "SAGALD",
    "SGHMC",
    "SGLD",
    "SGLDFP",
    "SGMCMC",
    "SGNHT",
    "SGRRHMC",
    "SGRRLD",
    "SVRGLD",
    "AbstractKernel",
    "AbstractRichardsonRomberg",
    "NumPyroKernel",
    "RichardsonRomberg",
    "SGHMCSplit",
]
