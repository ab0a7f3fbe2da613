"""The log density of an enumerated model, scaled after the sum over states."""

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.model.enumeration.components import components_of
from numpyro_sgmcmc.model.enumeration.factors import Trace, factors_of
from numpyro_sgmcmc.model.enumeration.sites import Enumeration
from numpyro_sgmcmc.types import Plate


def log_joint(trace: Trace, enumeration: Enumeration, plates: dict[str, Plate]) -> jax.Array:
    """Return the log density of a trace, an unbiased estimate of the whole data's.

    With rows i of a subsampled plate it is the sum over them of (N / B) log sum_z p(z, y_i), not
    log sum_z p(z, y_i)^(N / B), which a scale before the sum would give.
    """
    plain, components = components_of(factors_of(trace, enumeration, plates, ()), enumeration)
    total = jnp.zeros(())
    for factor in plain:
        total = total + factor.scale * jnp.sum(factor.values)
    for component in components:
        total = total + component.scale * component.log_sum()
    return total


def site_densities(
    trace: Trace, enumeration: Enumeration, plates: dict[str, Plate]
) -> dict[str, jax.Array]:
    """Return the scaled log density by site; that of all sites together in a component."""
    plain, components = components_of(factors_of(trace, enumeration, plates, ()), enumeration)
    found = {factor.site: factor.scale * jnp.sum(factor.values) for factor in plain}
    for component in components:
        density = component.scale * component.log_sum()
        found |= {factor.site: density for factor in component.factors}
    return found


def log_marginals(
    trace: Trace, enumeration: Enumeration, plates: dict[str, Plate], observed: tuple[str, ...]
) -> dict[tuple[str, ...], jax.Array]:
    """Return log p(observations of a row | draw), without scale, where discrete sites matter.

    Observed sites that share a discrete site have one joint density. It is the ratio of the sums
    with and without them, because a continuous latent site may depend on a discrete one, too.

    Returns:
        Densities by the names of the sites; their axes are `enumeration.marginals`.
    """
    factors = factors_of(trace, enumeration, plates, observed)
    found = {}
    for component in components_of(factors, enumeration)[1]:
        if component.observed:
            keep = component.plates
            both = component.log_sum(keep)
            found[component.observed] = both - component.latent.log_sum(keep)
    return found


def probabilities(
    trace: Trace, enumeration: Enumeration, plates: dict[str, Plate], site: str
) -> jax.Array:
    """Return p(state | observations) of a discrete site, with its plates as axes and states last.

    It is the derivative of the log of the sum by the log density of each state.
    """
    factors = factors_of(trace, enumeration, plates, ())
    own = next(factor for factor in factors if factor.site == site)
    if not own.variables:  # a site with a single state
        return jnp.ones((*own.values.shape, 1), own.values.dtype)
    component = next(c for c in components_of(factors, enumeration)[1] if site in c.within)
    rows = own.values.shape[len(own.variables) :]
    tilt = jnp.zeros((len(enumeration.support[site]), *rows), own.values.dtype)
    return jnp.moveaxis(jax.grad(lambda t: component.log_sum((), {site: t}))(tilt), 0, -1)
