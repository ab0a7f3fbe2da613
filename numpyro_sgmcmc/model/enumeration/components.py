"""Groups of sites that depend on the same discrete sites."""

from typing import NamedTuple

import jax

from numpyro_sgmcmc.model.enumeration.elimination import Term, eliminate, order_of
from numpyro_sgmcmc.model.enumeration.factors import Factor
from numpyro_sgmcmc.model.enumeration.sites import Enumeration


class Component(NamedTuple):
    """Factors that are connected by discrete sites, and by them alone.

    Attributes:
        factors: the factors.
        within: the discrete sites, each with its plates.
    """

    factors: tuple[Factor, ...]
    within: dict[str, frozenset[str]]

    @property
    def scale(self) -> float:
        """The product of N / B over the subsampled plates, the same for all factors."""
        return self.factors[0].scale

    @property
    def plates(self) -> tuple[str, ...]:
        """The plates that all factors are in."""
        shared = frozenset.intersection(*(frozenset(f.plates) for f in self.factors))
        return tuple(name for name in self.factors[0].plates if name in shared)

    @property
    def observed(self) -> tuple[str, ...]:
        """The observed sites."""
        return tuple(factor.site for factor in self.factors if factor.is_observed)

    @property
    def latent(self) -> "Component":
        """The component without its observed sites."""
        return self._replace(factors=tuple(f for f in self.factors if not f.is_observed))

    @property
    def states(self) -> int:
        """The largest number of joint states that the sum looks at together for one row."""
        sizes = {
            name: size
            for factor in self.factors
            for name, size in zip(factor.variables, factor.values.shape, strict=False)
        }
        scopes = [factor.variables for factor in self.factors]
        return max([order_of(scopes, self.within, sizes)[1], *map(_joint_states, self.factors)])

    def log_sum(
        self, keep: tuple[str, ...] = (), tilts: dict[str, jax.Array] | None = None
    ) -> jax.Array:
        """Return the log of the sum over all states, with the plates `keep` as axes.

        Args:
            keep: some of the component's plates; the sum over the rows of others is taken.
            tilts: arrays (K, rows of its plates) by discrete site, which are added to its log
                density.
        """
        terms = [Term(f.values, (*f.variables, *f.plates)) for f in self.factors]
        for factor in self.factors:
            if factor.site in (tilts or {}):
                terms.append(Term((tilts or {})[factor.site], (factor.site, *factor.plates)))
        return eliminate(terms, self.within, keep)


def components_of(
    factors: list[Factor], enumeration: Enumeration
) -> tuple[list[Factor], list[Component]]:
    """Return the factors that depend on no discrete site, and the components of the others."""
    plain = [f for f in factors if not f.variables]
    groups: list[list[Factor]] = []
    for factor in factors:
        if not factor.variables:
            continue
        touching = [g for g in groups if any(set(f.variables) & set(factor.variables) for f in g)]
        groups = [g for g in groups if not any(g is t for t in touching)]
        groups.append([*(f for g in touching for f in g), factor])
    return plain, [_component(group, enumeration) for group in groups]


def _component(group: list[Factor], enumeration: Enumeration) -> Component:
    names = {name for factor in group for name in factor.variables}
    within = {n: frozenset(enumeration.plates[n]) for n in enumeration.dims if n in names}
    return Component(tuple(group), within)


def _joint_states(factor: Factor) -> int:
    count = 1
    for size in factor.values.shape[: len(factor.variables)]:
        count *= size
    return count
