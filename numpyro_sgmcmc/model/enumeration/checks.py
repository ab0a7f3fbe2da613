"""Checks that discrete sites can be summed out; errors name the site and a remedy."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from numpyro import handlers
from numpyro.distributions import biject_to

from numpyro_sgmcmc.model.dependence import sources_of
from numpyro_sgmcmc.model.enumeration.components import Component, components_of
from numpyro_sgmcmc.model.enumeration.elimination import Intractable
from numpyro_sgmcmc.model.enumeration.factors import Factor, factors_of
from numpyro_sgmcmc.model.enumeration.sites import Enumeration, enumerated, subsampled
from numpyro_sgmcmc.types import Plate

MANY_STATES = 4_096
"""Most joint states for each row: with these, one row costs what thousands of rows do."""


class TooManyStates(ValueError):
    """Discrete sites have more joint states than can be summed over."""


def checked(
    model: Callable,
    enumeration: Enumeration,
    plates: dict[str, Plate],
    latent: tuple[str, ...],
    observed: tuple[str, ...],
    args: tuple,
    kwargs: dict,
) -> Enumeration:
    """Return the enumeration with its marginals and states, if the sum over states is correct.

    Args:
        model: the model with the values of its continuous sites and its minibatch.
        enumeration: its discrete latent sites.
        plates: its subsampled plates.
        latent: names of its continuous latent sites.
        observed: names of its observed sites.
        args: its arguments.
        kwargs: its keyword arguments.

    Raises:
        ValueError: if it is not. The message names the sites and the remedy.
    """
    if not enumeration.dims:
        return enumeration
    for name, support in enumeration.support.items():
        _check_states(len(support), [name])
    trace = handlers.trace(enumerated(model, enumeration)).get_trace(*args, **kwargs)
    factors = factors_of(trace, enumeration, plates, observed)
    sources = _sources(model, enumeration, latent, args, kwargs)
    for factor in factors:
        _check_factor(factor, enumeration, sources[factor.site])
    components = components_of(factors, enumeration)[1]
    for component in components:
        _check_plates(component, plates)
        _check_states(component.states, list(component.within))
        try:
            jax.eval_shape(component.log_sum)
        except Intractable as error:
            raise ValueError(
                f"Expected discrete sites whose sum factorises over the rows of plates; got"
                f" {error}, which are in different plates and depend on each other. Its cost grows"
                " exponentially with the number of rows. Sum over one of them by hand, make it a"
                " continuous site, or keep sites of one subsampled plate for all rows with"
                ' latent_move="gibbs".'
            ) from error
    return enumeration._replace(
        marginals={c.observed: c.plates for c in components if c.observed},
        states=max((c.states for c in components), default=1),
    )


def _sources(
    model: Callable, enumeration: Enumeration, latent: tuple[str, ...], args: tuple, kwargs: dict
) -> dict[str, frozenset[str]]:
    """Return the discrete sites that each site's log density depends on."""

    def densities(support: dict[str, Any]) -> dict[str, Any]:
        states = enumeration._replace(support=enumeration.support | support)
        trace = handlers.trace(enumerated(model, states)).get_trace(*args, **kwargs)
        found: dict[str, Any] = {}
        for name, site in trace.items():
            if site["type"] == "sample":
                found[name] = site["fn"].log_prob(site["value"])
            if name in latent:
                leaves = jax.tree.leaves(biject_to(site["fn"].support))
                found[f"support of {name}"] = [jnp.asarray(leaf) for leaf in leaves]
        return found

    support = {
        n: jnp.asarray(states) for n, states in enumeration.support.items() if len(states) > 1
    }
    found = sources_of(densities, support)
    for name in latent:
        if found.get(f"support of {name}"):
            raise ValueError(
                f"Expected the support of the continuous site {name!r} not to depend on discrete"
                " latent sites; got one that does. Give it the same support in every state."
            )
    return found


def _check_factor(factor: Factor, enumeration: Enumeration, sources: frozenset[str]) -> None:
    if lost := sorted(sources - set(factor.variables)):
        raise ValueError(
            f"Expected site {factor.site!r} to use the states of discrete sites row by row; got a"
            f" density that depends on {', '.join(map(repr, lost))} and has no dimension for its"
            " states, for example after a sum over rows. A discrete site has all its states along"
            " a dimension of its own, to the left of the plates: use it inside its plates, with"
            " operations that broadcast, such as `means[z]`; or keep sites of the subsampled plate"
            ' for all rows, with latent_move="gibbs".'
        )
    if not factor.variables:
        return
    names = ", ".join(map(repr, factor.variables))
    if factor.rest or set(factor.variables) - sources - {factor.site}:
        raise ValueError(
            f"Expected every batch dimension of site {factor.site!r} to have a plate, because it"
            f" depends on the discrete site(s) {names}; got a dimension without one. Use"
            " `numpyro.plate`, or `to_event` for dimensions that belong to one row."
        )
    for name in factor.variables:
        outside = [plate for plate in enumeration.plates[name] if plate not in factor.plates]
        if outside:
            raise ValueError(
                f"Expected site {factor.site!r}, which depends on the discrete site {name!r}, to be"
                f" inside its plate {outside[0]!r}; got it outside. Move it into the plate."
            )


def _check_plates(component: Component, plates: dict[str, Plate]) -> None:
    """Refuse a log-sum-exp of estimated sums, which is biased."""
    within = {factor.site: subsampled(factor.plates, plates) for factor in component.factors}
    for factor in component.factors:
        for name in factor.variables:
            more = within[factor.site] - component.within[name]
            if more:
                plate = min(more)
                raise ValueError(
                    f"Expected the discrete site {name!r} inside the subsampled plate {plate!r},"
                    f" because site {factor.site!r} in that plate depends on it; got it outside."
                    " A sum over its states needs all rows: the log of a sum of estimates from"
                    f" minibatches is biased. Draw {name!r} in the plate, one for each row; or"
                    f" remove `subsample_size` of {plate!r}, which is exact; or make the site"
                    " continuous."
                )


def _check_states(states: int, names: list[str]) -> None:
    if states > MANY_STATES:
        some = ", ".join(map(repr, names[:4])) + (" and others" if names[4:] else "")
        raise TooManyStates(
            f"Expected at most {MANY_STATES:,} joint states of discrete sites for each row; got"
            f" {states:,} for {some}, each of which would be evaluated for every row of every"
            " minibatch. Use fewer states, sites that depend on fewer others, or a continuous"
            " relaxation."
        )
