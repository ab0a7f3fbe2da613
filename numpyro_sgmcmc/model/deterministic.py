"""Deterministic sites that are left out of the draws, as undefined or too costly."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from numpyro import handlers

from numpyro_sgmcmc.model.dependence import depends_on, depends_through
from numpyro_sgmcmc.model.handlers import with_minibatch
from numpyro_sgmcmc.types import Plate

MANY_ENTRIES = 16_384
"""Arrays of fewer entries do not count as a pass over large data."""


def dependent_sites(
    model: Callable,
    values: dict[str, Any],
    inputs: tuple[dict[str, Any], dict[str, Any]],
    is_random: bool,
    names: list[str],
    args: tuple,
    kwargs: dict,
) -> list[str]:
    """Return the sites that depend on the minibatch, on random numbers or on discrete sites.

    The inputs are the rows by plate and the values of the discrete sites.
    """
    if not names or not (any(inputs) or is_random):
        return []

    def deterministic(minibatch: Any) -> dict[str, Any]:
        (drawn, discrete), key = minibatch
        bound = with_minibatch(model, values | discrete, drawn, key)
        trace = handlers.trace(bound).get_trace(*args, **kwargs)
        return {name: trace[name]["value"] for name in names}

    key = jax.random.key(0) if is_random else None
    return [name for name, yes in depends_on(deterministic, (inputs, key)).items() if yes]


def costly_sites(
    model: Callable,
    values: dict[str, Any],
    indices: dict[str, Any],
    plates: dict[str, Plate],
    latent: dict[str, Any],
    names: list[str],
    args: tuple,
    kwargs: dict,
) -> list[str]:
    """Return the sites that are computed through an array as large as a subsampled plate.

    The array must also have more entries than there are parameters. Smaller arrays cost no more
    than a step.
    """
    if not names or not plates:
        return []
    parameters = {name: values[name] for name in latent}
    fixed = {name: value for name, value in values.items() if name not in latent}

    def deterministic(parameters: dict[str, Any]) -> dict[str, Any]:
        bound = handlers.seed(with_minibatch(model, fixed | parameters, indices, None), 0)
        trace = handlers.trace(bound).get_trace(*args, **kwargs)
        return {name: trace[name]["value"] for name in names}

    rows = min(plate.size for plate in plates.values())
    count = sum(jnp.size(value) for value in parameters.values())
    entries = max(rows, MANY_ENTRIES, count + 1)
    return [
        name for name, yes in depends_through(deterministic, parameters, entries).items() if yes
    ]
