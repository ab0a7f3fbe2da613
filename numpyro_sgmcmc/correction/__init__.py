"""Noise correction: the injected noise is reduced by the measured gradient noise.

With y = S^-1 z, gradient noise of covariance V in y adds h^2 V to the covariance of a kick. The
increment should add 2 D h I (2 h I for Langevin). With an increment C dW such that

    C C' = I - heating(V),    heating(V) = h V / (2 D)    (h V / 2 for Langevin)

the sum is 2 D h I. In SGHMC this is the estimate B^ of Chen, Fox and Guestrin (2014,
https://arxiv.org/abs/1402.4102, section 3.3), who inject noise of covariance 2 (C - B^) h with
friction C and B^ = h V / 2. Here V is the covariance of the whole-data gradient's estimate, which
is N^2 / B times that of one row, in whitened coordinates. In directions in which V exceeds 2 D / h
the gradient noise alone is too large, and the increment is zero.

V is averaged over the posterior. If V depends on z, only its mean matters to first order in h.
"""

from numpyro_sgmcmc.correction.base import AbstractCorrection, DiagonalCorrection
from numpyro_sgmcmc.correction.coupled import CoupledCorrection
from numpyro_sgmcmc.correction.dense import DenseCorrection

__all__ = ["AbstractCorrection", "CoupledCorrection", "DenseCorrection", "DiagonalCorrection"]
