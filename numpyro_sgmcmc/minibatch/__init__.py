"""Minibatch schemes, which map a key, a step count and a state to indices by plate name."""

from numpyro_sgmcmc.minibatch.base import AbstractMinibatch, Epoch
from numpyro_sgmcmc.minibatch.contiguous import ContiguousMinibatch
from numpyro_sgmcmc.minibatch.reshuffled import ReshuffledMinibatch
from numpyro_sgmcmc.minibatch.rows import uniform_rows
from numpyro_sgmcmc.minibatch.shared import SharedMinibatch
from numpyro_sgmcmc.minibatch.shuffle import shuffle_rows
from numpyro_sgmcmc.minibatch.sweep import SweepMinibatch
from numpyro_sgmcmc.minibatch.uniform import UniformMinibatch

__all__ = [
    "AbstractMinibatch",
    "ContiguousMinibatch",
    "Epoch",
    "ReshuffledMinibatch",
    "SharedMinibatch",
    "SweepMinibatch",
    "UniformMinibatch",
    "shuffle_rows",
    "uniform_rows",
]
