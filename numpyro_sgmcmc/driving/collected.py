"""The fields of a state that are collected, and their values in the constrained space."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from numpyro.util import nested_attrgetter


class Collected(NamedTuple):
    """Names of what a run keeps of each draw.

    Attributes:
        fields: fields of the state, with dots for fields of fields; the first holds the draws.
        removed: sites that are left out of the draws.
    """

    fields: tuple[str, ...]
    removed: tuple[str, ...]

    def of(self, state: Any, constrain: Callable[[Any], Any]) -> dict[str, Any]:
        """Return the collected values of a state, the draws in the constrained space."""
        draws, *others = (nested_attrgetter(name)(state) for name in self.fields)
        draws = constrain(draws)
        if self.removed:
            draws = {name: value for name, value in draws.items() if name not in self.removed}
        return dict(zip(self.fields, (draws, *others), strict=True))


def collected_of(sample_field: str, names: Iterable[str]) -> Collected:
    """Return what a run keeps; names such as "~z.beta" leave out a site."""
    mark = f"~{sample_field}."
    fields, removed = {sample_field: None}, {}
    for name in names:
        if name.startswith(mark):
            removed[name.removeprefix(mark)] = None
        else:
            fields[name] = None
    return Collected(tuple(fields), tuple(removed))


def for_each_chain(constrain: Callable[[Any], Any], chains: int) -> Callable[[Any], Any]:
    """Return `constrain` for values with a leading axis of chains."""

    def all_chains(values: Any) -> Any:
        if jax.tree.leaves(values):
            return jax.vmap(constrain)(values)
        spread = lambda leaf: jnp.broadcast_to(leaf, (chains, *jnp.shape(leaf)))  # noqa: E731
        return jax.tree.map(spread, constrain(values))

    return all_chains
