"""Checks of the unconstrained values that a user gives, and their conversion to flat positions."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from numpyro_sgmcmc.model import Structure


def flatten_params(structure: Structure, params: dict[str, Any], what: str) -> jax.Array:
    """Return unconstrained values by site name as a flat position.

    Raises:
        TypeError: if `params` is not a dict.
        ValueError: if a site is missing, unknown, not finite, or has a wrong shape.
    """
    check_params(structure, params, what)
    values = {
        name: jnp.asarray(params[name], prototype.dtype)
        for name, prototype in structure.prototype.items()
    }
    return structure.ravel(values)


def check_params(
    structure: Structure, params: Any, what: str, chains: tuple[int, ...] = ()
) -> None:
    """Check unconstrained values by site name; `chains` is the leading shape they must have."""
    if not isinstance(params, dict):
        raise TypeError(
            f"Expected `{what}` to be a dict of unconstrained values by site name; got"
            f" {type(params).__name__}."
        )
    expected = structure.prototype
    missing, extra = (
        sorted(expected.keys() - params.keys()),
        sorted(params.keys() - expected.keys()),
    )
    if missing or extra:
        raise ValueError(
            f"Expected `{what}` to name the latent sites {sorted(expected)}; got"
            f" {sorted(params)}: missing {missing}, not in the model {extra}."
        )
    for name, prototype in expected.items():
        shape = chains + prototype.shape
        if jnp.shape(params[name]) != shape:
            raise ValueError(
                f"Expected `{what}` of site {name!r} to have the unconstrained shape {shape}; got"
                f" {jnp.shape(params[name])}."
            )
        value = params[name]
        if not isinstance(value, Tracer) and not np.all(np.isfinite(value)):
            raise ValueError(
                f"Expected `{what}` of site {name!r} to be finite; got NaN or infinite entries."
            )
