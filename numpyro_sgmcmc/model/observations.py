"""Log likelihoods and expected values of observations at a draw."""

from typing import Any

import jax
import jax.numpy as jnp
from numpyro import handlers

from numpyro_sgmcmc.model.arguments import as_jax_arrays
from numpyro_sgmcmc.model.enumeration import log_marginals
from numpyro_sgmcmc.model.structure import Structure
from numpyro_sgmcmc.types import Minibatch


def of_observations(
    structure: Structure,
    args: tuple,
    kwargs: dict,
    position: jax.Array,
    minibatch: Minibatch,
    most: int,
) -> dict[str, jax.Array]:
    """Return functions of a draw that do not depend on how the model names its parameters.

    Args:
        structure: of the model.
        args: the model's arguments.
        kwargs: its keyword arguments.
        position: flat and unconstrained, (d,).
        minibatch: rows of subsampled plates.
        most: entries of an observed site that are looked at.

    Returns:
        For each observed site its `log likelihood` and, where its distribution has a mean, its
        `fitted value`, (k,). Sites that share a discrete site have a joint log likelihood alone.
    """
    args, kwargs = as_jax_arrays(args, kwargs)
    draw = structure.constrain(structure.unravel(position), args, kwargs)
    model = structure.with_minibatch(minibatch.indices, minibatch.key)
    trace = handlers.trace(handlers.substitute(model, data=draw)).get_trace(*args, **kwargs)
    found: dict[str, Any] = {}
    summed: set[str] = set()
    if structure.enumeration.dims:
        marginals = log_marginals(
            trace, structure.enumeration, structure.plates, structure.observed
        )
        for sites, density in marginals.items():
            found[f"log likelihood of {' and '.join(map(repr, sites))}"] = density
            summed |= set(sites)
    for name in structure.observed:
        if name in summed:
            continue
        site = trace[name]
        found[f"log likelihood of {name!r}"] = site["fn"].log_prob(site["value"])
        try:
            found[f"fitted value of {name!r}"] = site["fn"].mean
        except NotImplementedError:  # how NumPyro says that a distribution has no mean
            continue
    return {name: _some(value, most) for name, value in found.items()}


def _some(values: Any, most: int) -> jax.Array:
    flat = jnp.ravel(values)
    return flat[:: max(1, -(-flat.size // most))]
