"""Gradient estimators: unbiased estimates of the whole-data gradient from a minibatch."""

from numpyro_sgmcmc.gradient.base import AbstractGradient, Estimate
from numpyro_sgmcmc.gradient.fixed_point import Anchor, FixedPoint
from numpyro_sgmcmc.gradient.plain import Plain

__all__ = [
    "AbstractGradient",
    "Anchor",
    "Estimate",
    "FixedPoint",
    "Plain",
]
