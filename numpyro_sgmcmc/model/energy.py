"""The stochastic potential of a NumPyro model, on a flat unconstrained position."""

from functools import partial

import jax
import jax.numpy as jnp
from numpyro import handlers
from numpyro.infer.util import _unconstrain_reparam, compute_log_probs, potential_energy

from numpyro_sgmcmc.model.arguments import as_jax_arrays
from numpyro_sgmcmc.model.enumeration import log_joint, site_densities
from numpyro_sgmcmc.model.local import JointPotential
from numpyro_sgmcmc.model.structure import Structure
from numpyro_sgmcmc.types import Minibatch, StochasticPotential


def stochastic_potential(structure: Structure, args: tuple, kwargs: dict) -> StochasticPotential:
    """Return the map from a position (d,) and a minibatch to an estimate of U = -log p(z, data).

    The estimate is unbiased, because NumPyro's plates scale the minibatch's likelihood by N / B;
    the sum over the states of discrete sites is scaled after it is taken. U includes the log
    determinants of the transforms to the unconstrained space, and of the change of `Coordinates` of
    effects if there is one.

    For a model with latents of rows it is their joint potential, which has methods instead.
    """
    args, kwargs = as_jax_arrays(args, kwargs)
    if structure.local is not None:
        return JointPotential(structure, args, kwargs)

    def potential(position: jax.Array, minibatch: Minibatch) -> jax.Array:
        model = structure.with_minibatch(minibatch.indices, minibatch.key)
        values, log_volume = structure.placed(position)
        if not structure.enumeration.dims:
            return jnp.asarray(potential_energy(model, args, kwargs, values)) - log_volume
        # What `potential_energy` does, but for the sum over states.
        model = handlers.substitute(model, substitute_fn=partial(_unconstrain_reparam, values))
        trace = handlers.trace(model).get_trace(*args, **kwargs)
        return -log_joint(trace, structure.enumeration, structure.plates) - log_volume

    return potential


def log_densities(
    structure: Structure, args: tuple, kwargs: dict, position: jax.Array, minibatch: Minibatch
) -> dict[str, jax.Array]:
    """Return the log density of each site at a position, to find those that are not finite."""
    model = structure.with_minibatch(minibatch.indices, minibatch.key)
    constrained = structure.constrain(structure.unravel(position), args, kwargs)
    if structure.enumeration.dims:
        bound = handlers.substitute(model, data=constrained)
        trace = handlers.trace(bound).get_trace(*args, **kwargs)
        return site_densities(trace, structure.enumeration, structure.plates)
    return compute_log_probs(model, args, kwargs, constrained)[0]
