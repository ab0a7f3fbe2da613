"""Variable elimination with plates against the sum over every assignment."""

from itertools import pairwise, product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc.model.enumeration.elimination import Intractable, Term, eliminate, order_of

SIZES = {"a": 2, "b": 3, "c": 2, "rows": 2, "entries": 2}


def term(seed, *axes):
    shape = tuple(SIZES[name] for name in axes)
    return Term(jax.random.normal(jax.random.key(seed), shape), axes)


def brute(terms, within):
    """Return the log of the sum over all variables, each with a copy in every row of its plates."""
    copies = [
        (name, where)
        for name, plates in within.items()
        for where in product(*(range(SIZES[p]) for p in sorted(plates)))
    ]
    total = []
    for states in product(*(range(SIZES[name]) for name, _ in copies)):
        chosen, density = dict(zip(copies, states, strict=True)), 0.0
        for values, axes in terms:
            plates = [name for name in axes if name not in within]
            for where in product(*(range(SIZES[p]) for p in plates)):
                row = dict(zip(plates, where, strict=True))
                index = [
                    chosen[name, tuple(row[p] for p in sorted(within[name]))]
                    if name in within
                    else row[name]
                    for name in axes
                ]
                density += float(values[tuple(index)])
        total.append(density)
    return np.logaddexp.reduce(total)


ROWS, BOTH = frozenset({"rows"}), frozenset({"rows", "entries"})
GRAPHS = {
    "one row": (
        [term(0, "a"), term(1, "a", "b"), term(2, "b", "c")],
        dict.fromkeys("abc", frozenset()),
    ),
    "rows": ([term(0, "a", "rows"), term(1, "rows", "b", "a")], {"a": ROWS, "b": ROWS}),
    "outside": (
        [term(0, "a"), term(1, "a", "b", "rows"), term(2, "b", "rows")],
        {"a": frozenset(), "b": ROWS},
    ),
    "nested": (
        [
            term(0, "a", "rows"),
            term(1, "a", "c", "rows", "entries"),
            term(2, "a", "rows", "entries"),
        ],
        {"a": ROWS, "c": BOTH},
    ),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_sum(name):
    terms, within = GRAPHS[name]
    np.testing.assert_allclose(eliminate(terms, within, ()), brute(terms, within), rtol=1e-5)


def test_kept_plates_add_up():
    terms, within = GRAPHS["nested"]
    by_row = eliminate(terms, within, ("rows",))
    assert by_row.shape == (2,)
    np.testing.assert_allclose(by_row.sum(), eliminate(terms, within, ()), rtol=1e-5)


def test_terms_that_disagree_do_not_underflow():
    """exp(-300) is 0 in single precision: log terms are added before exponentials are taken."""
    terms = [Term(jnp.array([0.0, -300.0]), ("a",)), Term(jnp.array([-300.0, 0.0]), ("a",))]
    total = lambda x: eliminate([Term(x, ("a",)), terms[1]], {"a": frozenset()}, ())  # noqa: E731
    value, slope = jax.value_and_grad(total)(terms[0].values)
    np.testing.assert_allclose(value, -300.0 + np.log(2.0), rtol=1e-6)
    np.testing.assert_allclose(slope, [0.5, 0.5], rtol=1e-6)


def test_order_of_a_chain():
    """Each variable is joined with its neighbours alone."""
    names = [f"z{k}" for k in range(12)]
    scopes = list(pairwise(names))
    _, largest = order_of(scopes, dict.fromkeys(names, ROWS), dict.fromkeys(names, 3))
    assert largest == 9


def test_variables_in_different_plates():
    plates = {"a": ROWS, "b": frozenset({"entries"})}
    with pytest.raises(Intractable):
        eliminate([term(0, "a", "b", "rows", "entries")], plates, ())
