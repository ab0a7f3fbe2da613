"""States of chains: NamedTuples of arrays that pass from one iteration to the next."""

from numpyro_sgmcmc.state.data import DataTag, is_made_for, tag_of
from numpyro_sgmcmc.state.keys import GivenKeys, given_to_init, with_new_key, with_own_key
from numpyro_sgmcmc.state.other_modes import OtherModes
from numpyro_sgmcmc.state.replicas import ReplicaExchangeState, Swaps, no_swaps
from numpyro_sgmcmc.state.stale import StaleGradientState, gradient_state, with_gradient_state
from numpyro_sgmcmc.state.states import Companion, RichardsonRombergState, SGMCMCState
from numpyro_sgmcmc.state.tuned import Pace, Tuned

__all__ = [
    "Companion",
    "DataTag",
    "GivenKeys",
    "OtherModes",
    "Pace",
    "ReplicaExchangeState",
    "RichardsonRombergState",
    "SGMCMCState",
    "StaleGradientState",
    "Swaps",
    "Tuned",
    "given_to_init",
    "gradient_state",
    "is_made_for",
    "no_swaps",
    "tag_of",
    "with_gradient_state",
    "with_new_key",
    "with_own_key",
]
