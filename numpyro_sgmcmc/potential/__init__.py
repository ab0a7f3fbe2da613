"""From a NumPyro model to a stochastic potential on a flat unconstrained position."""

from numpyro_sgmcmc.potential.arguments import are_alike, non_finite_arguments, split_arguments
from numpyro_sgmcmc.potential.energy import log_densities, stochastic_potential
from numpyro_sgmcmc.potential.slices import by_slices
from numpyro_sgmcmc.potential.structure import Structure, read_structure
from numpyro_sgmcmc.potential.whole_data import over_whole_data

__all__ = [
    "Structure",
    "are_alike",
    "by_slices",
    "log_densities",
    "non_finite_arguments",
    "over_whole_data",
    "read_structure",
    "split_arguments",
    "stochastic_potential",
]
