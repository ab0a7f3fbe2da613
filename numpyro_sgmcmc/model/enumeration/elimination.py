"""Variable elimination in a graph of factors with plates, in log space."""

from math import prod
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.nn import logsumexp


class Term(NamedTuple):
    """An array whose axes have names.

    Attributes:
        values: the array.
        axes: the names of its axes.
    """

    values: jax.Array
    axes: tuple[str, ...]


class Intractable(ValueError):
    """A sum that does not factorise over the rows of a plate."""


def eliminate(
    terms: list[Term], within: dict[str, frozenset[str]], keep: tuple[str, ...]
) -> jax.Array:
    """Return the log of the sum over all variables of the product of exp(term), over plates.

    The product runs over the rows of each plate; a variable in plates has an own copy in each of
    their rows. Variables in most plates are eliminated first. For each, the log terms that hold it
    are added before a log-sum-exp, so nothing underflows where terms disagree.

    Args:
        terms: log factors; each has the axes of the plates that it is in.
        within: the plates of each variable.
        keep: plates whose rows are not multiplied; every term has them.

    Returns:
        An array with the axes `keep`.

    Raises:
        Intractable: if variables in different plates depend on each other.
    """
    for variable in order_of([term.axes for term in terms], within, _sizes(terms))[0]:
        joint, terms = _joint(variable, terms, within)
        axis = joint.axes.index(variable)
        axes = joint.axes[:axis] + joint.axes[axis + 1 :]
        terms.append(Term(logsumexp(joint.values, axis=axis), axes))
    return sum_of([_summed(term, frozenset(term.axes) - set(keep)) for term in terms], keep).values


def order_of(
    scopes: list[tuple[str, ...]], within: dict[str, frozenset[str]], sizes: dict[str, int]
) -> tuple[list[str], int]:
    """Return an order of elimination, and the largest number of joint states on the way."""
    left = {v: plates for v, plates in within.items() if any(v in scope for scope in scopes)}
    known = [frozenset(v for v in scope if v in left) for scope in scopes]
    order, largest = [], 1

    def joint(variable: str) -> frozenset[str]:
        return frozenset().union(*(scope for scope in known if variable in scope))

    def states(variable: str) -> int:
        return prod(sizes[v] for v in joint(variable))

    while left:
        deepest = max(map(len, left.values()))
        variable = min((v for v in left if len(left[v]) == deepest), key=states)
        largest = max(largest, states(variable))
        made = joint(variable) - {variable}
        known = [scope for scope in known if variable not in scope] + [made]
        order.append(variable)
        del left[variable]
    return order, largest


def sum_of(terms: list[Term], axes: tuple[str, ...]) -> Term:
    """Return the sum of terms, with these axes in front; others follow in order of appearance."""
    for term in terms:
        axes += tuple(name for name in term.axes if name not in axes)
    sizes = _sizes(terms)
    total = jnp.zeros((), terms[0].values.dtype)
    for term in terms:
        order = [term.axes.index(name) for name in axes if name in term.axes]
        shape = [sizes[name] if name in term.axes else 1 for name in axes]
        total = total + jnp.transpose(term.values, order).reshape(shape)
    return Term(total, axes)


def _joint(
    variable: str, terms: list[Term], within: dict[str, frozenset[str]]
) -> tuple[Term, list[Term]]:
    """Return the sum of the terms that hold a variable, and the other terms."""
    involved = []
    for term in terms:
        if variable not in term.axes:
            continue
        deeper = frozenset(n for n in term.axes if n not in within) - within[variable]
        for other in term.axes:
            if other in within and within[other] & deeper:
                raise Intractable(f"{variable!r} and {other!r}")
        involved.append(_summed(term, deeper))
    return sum_of(involved, ()), [term for term in terms if variable not in term.axes]


def _summed(term: Term, names: frozenset[str]) -> Term:
    axes = tuple(k for k, name in enumerate(term.axes) if name in names)
    return Term(term.values.sum(axes), tuple(n for n in term.axes if n not in names))


def _sizes(terms: list[Term]) -> dict[str, int]:
    return {n: s for term in terms for n, s in zip(term.axes, term.values.shape, strict=True)}
