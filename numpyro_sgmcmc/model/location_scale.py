"""Priors of effects that are a location plus a scale times a fixed distribution."""

from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro.distributions import constraints
from numpyro.distributions.transforms import biject_to

WRAPPERS = (dist.Independent, dist.ExpandedDistribution, dist.MaskedDistribution)


def location_and_scale(prior: Any) -> tuple[Any, Any] | None:
    """Return location and scale of a prior on the real line; None if it has not both.

    Their shapes broadcast to that of the site's value.
    """
    found = _with_both(prior)
    return None if found is None else (found.loc, found.scale)


def unconstrained_prior(prior: Any) -> Any:
    """Return the prior of single unconstrained numbers if it has location and scale, else None.

    That of a log-normal value is a normal distribution. So is the prior inside of any other map
    from the real line, if that map is the one to the prior's support.
    """
    prior = _unwrapped(prior)
    is_mapped = isinstance(prior, dist.TransformedDistribution)
    if is_mapped and prior.transforms == [biject_to(prior.support)]:
        prior = prior.base_dist
    return _with_both(prior)


def log_scale(scale: jax.Array) -> jax.Array:
    """Return log s, or the logarithm of a lower limit if s is below it, for `Coordinates`.

    The first three derivatives have the factors 1 / s to 1 / s^3, which overflow for tiny s, such
    as the weights of a Gaussian process at high frequencies. Coordinates are valid with any
    positive scale.
    """
    return jnp.log(jnp.maximum(scale, float(jnp.finfo(scale.dtype).tiny) ** (1 / 3)))


def _with_both(prior: Any) -> Any:
    prior = _unwrapped(prior)
    is_real = prior.support is constraints.real
    return prior if is_real and {"loc", "scale"} <= set(prior.arg_constraints) else None


def _unwrapped(prior: Any) -> Any:
    while isinstance(prior, WRAPPERS):
        prior = prior.base_dist
    return prior
