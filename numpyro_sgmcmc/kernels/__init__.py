"""NumPyro kernels: final classes that choose parts."""

from numpyro_sgmcmc.kernels.base import AbstractKernel
from numpyro_sgmcmc.kernels.richardson_romberg import (
    SGRRHMC,
    SGRRLD,
    AbstractRichardsonRomberg,
    RichardsonRomberg,
)
from numpyro_sgmcmc.kernels.sghmc import SGHMC, SGHMCSplit
from numpyro_sgmcmc.kernels.sgld import SGLD, SGLDFP
from numpyro_sgmcmc.kernels.sgmcmc import SGMCMC

__all__ = [
    "SGHMC",
    "SGLD",
    "SGLDFP",
    "SGMCMC",
    "SGRRHMC",
    "SGRRLD",
    "AbstractKernel",
    "AbstractRichardsonRomberg",
    "RichardsonRomberg",
    "SGHMCSplit",
]
