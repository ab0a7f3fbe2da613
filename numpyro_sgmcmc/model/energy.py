"""The stochastic potential of a NumPyro model, on a flat unconstrained position."""

import jax
import jax.numpy as jnp
from numpyro.infer.util import compute_log_probs, potential_energy

from numpyro_sgmcmc.model.arguments import as_jax_arrays
from numpyro_sgmcmc.model.handlers import with_minibatch
from numpyro_sgmcmc.model.structure import Structure
from numpyro_sgmcmc.types import Minibatch, StochasticPotential


def stochastic_potential(structure: Structure, args: tuple, kwargs: dict) -> StochasticPotential:
    """Return the map from a position (d,) and a minibatch to an estimate of U = -log p(z, data).

    The estimate is unbiased, because NumPyro's plates scale the minibatch's likelihood by N / B. U
    includes the log determinants of the transforms to the unconstrained space.
    """
    args, kwargs = as_jax_arrays(args, kwargs)

    def potential(position: jax.Array, minibatch: Minibatch) -> jax.Array:
        model = with_minibatch(structure.model, structure.fixed, minibatch.indices, minibatch.key)
        return jnp.asarray(potential_energy(model, args, kwargs, structure.unravel(position)))

    return potential


def log_densities(
    structure: Structure, args: tuple, kwargs: dict, position: jax.Array, minibatch: Minibatch
) -> dict[str, jax.Array]:
    """Return the log density of each site at a position, to find those that are not finite."""
    model = with_minibatch(structure.model, structure.fixed, minibatch.indices, minibatch.key)
    constrained = structure.constrain(structure.unravel(position), args, kwargs)
    return compute_log_probs(model, args, kwargs, constrained)[0]
