"""Conversion of a NumPyro model to a stochastic potential on a flat unconstrained position."""

from numpyro_sgmcmc.model.arguments import (
    are_alike,
    as_jax_arrays,
    copied_files,
    non_finite_arguments,
    split_arguments,
)
from numpyro_sgmcmc.model.centring import Centred, centred_sites, movable_sites
from numpyro_sgmcmc.model.energy import log_densities, stochastic_potential
from numpyro_sgmcmc.model.fingerprint import (
    Fingerprint,
    checksum,
    edited_in_place,
    fingerprint,
    glimpse,
)
from numpyro_sgmcmc.model.observations import of_observations
from numpyro_sgmcmc.model.reading import read_structure
from numpyro_sgmcmc.model.structure import Structure
from numpyro_sgmcmc.model.whole_data import over_whole_data, part_of_whole_data

__all__ = [
    "Centred",
    "Fingerprint",
    "Structure",
    "are_alike",
    "as_jax_arrays",
    "centred_sites",
    "checksum",
    "copied_files",
    "edited_in_place",
    "fingerprint",
    "glimpse",
    "log_densities",
    "movable_sites",
    "non_finite_arguments",
    "of_observations",
    "over_whole_data",
    "part_of_whole_data",
    "read_structure",
    "split_arguments",
    "stochastic_potential",
]
