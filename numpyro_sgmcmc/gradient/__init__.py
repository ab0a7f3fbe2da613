"""Gradient estimators: unbiased estimates of the whole-data gradient from a minibatch."""

from numpyro_sgmcmc.gradient.base import AbstractGradient, Anchor, Estimate
from numpyro_sgmcmc.gradient.fixed_point import FixedPoint
from numpyro_sgmcmc.gradient.plain import Plain
from numpyro_sgmcmc.gradient.saga import SAGA
from numpyro_sgmcmc.gradient.svrg import SVRG

__all__ = [
    "SAGA",
    "SVRG",
    "AbstractGradient",
    "Anchor",
    "Estimate",
    "FixedPoint",
    "Plain",
]
