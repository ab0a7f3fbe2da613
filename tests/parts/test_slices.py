"""Slices in place of gathers: the same numbers to the bit, where and only where rows are fetched.

All numbers are small integers, whose sums are exact in any order.
"""

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import SGLD, ContiguousMinibatch, UniformMinibatch
from numpyro_sgmcmc.cpu.slices import by_slices
from numpyro_sgmcmc.types import Minibatch

ROWS, BATCH, COLUMNS = 7, 3, 4
X = jnp.arange(ROWS * COLUMNS, dtype=jnp.float32).reshape(ROWS, COLUMNS)
TALL = jnp.pad(X, ((0, 5), (0, 0)), constant_values=9.0)
GROUP = jnp.array([2, 0, 1, 3, 3, 0, 1])
IMAGES = jnp.stack([X, 2 * X, 3 * X], 2)
WIDE = jnp.concatenate([X, X[:, :3] + 1], 1)
ACROSS, SHORT, SINGLE = X.T, X[:5], X[:1]
Z = jnp.array([1.0, -2.0, 3.0, 5.0])

SLICED = {
    "rows": (lambda z, i: X[i] @ z, 1),
    "a response too": (lambda z, i: (X[i] @ z) * GROUP[i], 2),
    "take": (lambda z, i: jnp.take(X, i, axis=0) @ z, 1),
    "take of another axis": (lambda z, i: z @ jnp.take(ACROSS, i, axis=1), 1),
    "at": (lambda z, i: X.at[i].get(mode="promise_in_bounds") @ z, 1),
    "higher": (lambda z, i: jnp.einsum("nij,i->n", IMAGES[i], z), 1),
    "more rows than the plate": (lambda z, i: TALL[i] @ z, 1),
    "fewer rows than the plate": (lambda z, i: jnp.take(SHORT, i, axis=0) @ z, 1),
    "wider integers": (lambda z, i: X[i.astype(jnp.uint32)] @ z, 1),
    "in a function": (jax.jit(lambda z, i: X[i] @ z), 1),
    "what leads to the position": (lambda z, i: z[GROUP[i]], 1),
}
GATHERED = {
    "made of the data": (lambda z, i: (X * 2)[i] @ z),
    "made of the data in a function": jax.jit(lambda z, i: (X * 2)[i] @ z),
    "made of the position too": (lambda z, i: (X * z)[i].sum(1)),
    "fewer rows than a minibatch": (lambda z, i: SINGLE[i] @ z),
    "the position's own": (lambda z, i: jnp.tile(z, 2)[i] ** 2),
    "other rows": (lambda z, i: X[i + 1] @ z),
    "rows in another order": (lambda z, i: X[i[::-1]] @ z),
    "a table of rows": (lambda z, i: X[i[:, None] * 0] @ z),
    "one entry of a row": (lambda z, i: X[i, 1] * z[0]),
    "narrower integers": (lambda z, i: X[i.astype(jnp.int8)] @ z),
    "pairs": (lambda z, i: WIDE[i, i] * z[1]),
}
CASES = SLICED | {name: (fn, 0) for name, fn in GATHERED.items()}
BLOCKS = [(np.arange(BATCH) + begin) % ROWS for begin in range(ROWS)]


def potential_of(fn: Any) -> Any:
    return lambda z, minibatch: jnp.sum(fn(z, minibatch.indices["rows"]) ** 2)


def equations(jaxpr: Any) -> Iterator[str]:
    for equation in jaxpr.eqns:
        yield equation.primitive.name
        for part in jax.tree.leaves(equation.params, is_leaf=lambda x: hasattr(x, "eqns")):
            if hasattr(part, "eqns"):
                yield from equations(getattr(part, "jaxpr", part))


def count(name: str, fn: Any, *args: Any) -> int:
    return list(equations(jax.make_jaxpr(fn)(*args).jaxpr)).count(name)


@pytest.mark.parametrize("fn, slices", CASES.values(), ids=CASES)
def test_value_and_gradient_are_the_same_for_every_block(fn, slices):
    plain = potential_of(fn)
    minibatches = Minibatch({"rows": jnp.array(BLOCKS)})
    values = [
        jax.jit(lambda many, f=f: jax.lax.map(lambda one: jax.value_and_grad(f)(Z, one), many))
        for f in (plain, by_slices(plain))
    ]
    jax.tree.map(np.testing.assert_array_equal, *(f(minibatches) for f in values))
    one = Minibatch({"rows": jnp.array(BLOCKS[0])})
    assert count("dynamic_slice", by_slices(plain), Z, one) == slices
    assert count("dynamic_slice", plain, Z, one) == 0


def test_each_plate_has_its_own_block():
    def plain(z, minibatch):
        i, j = minibatch.indices["rows"], minibatch.indices["columns"]
        return jnp.sum((X[i] @ z) ** 2) + jnp.sum(X[:, j] * z[j])

    columns = jnp.array([1, 2])
    for block in BLOCKS:
        minibatch = Minibatch({"rows": jnp.array(block), "columns": columns}, jax.random.PRNGKey(0))
        assert plain(Z, minibatch) == by_slices(plain)(Z, minibatch)
    assert count("dynamic_slice", by_slices(plain), Z, minibatch) == 2


def test_chains_with_rows_of_their_own_gather_them_once():
    plain = potential_of(SLICED["rows"][0])
    minibatches = Minibatch({"rows": jnp.array(BLOCKS)})
    over_chains = lambda f: jax.vmap(jax.value_and_grad(f), (None, 0))  # noqa: E731
    found = [over_chains(f)(Z, minibatches) for f in (plain, by_slices(plain))]
    jax.tree.map(np.testing.assert_array_equal, *found)
    assert count("cond", over_chains(by_slices(plain)), Z, minibatches) == 0
    assert count("gather", over_chains(by_slices(plain)), Z, minibatches) == 1


def test_chains_that_share_rows_slice_them():
    one = Minibatch({"rows": jnp.array(BLOCKS[2])})
    chains = jnp.stack([Z, -Z])
    plain = potential_of(SLICED["rows"][0])
    over_chains = lambda f: jax.vmap(jax.grad(f), (0, None))  # noqa: E731
    found = [over_chains(f)(chains, one) for f in (plain, by_slices(plain))]
    np.testing.assert_array_equal(*found)
    assert count("cond", over_chains(by_slices(plain)), chains, one) == 1


def test_rules_of_differentiation_are_kept():
    @jax.custom_vjp
    def odd(x):
        return x

    odd.defvjp(lambda x: (x, None), lambda _, back: (10 * back,))
    safe = lambda z, i: jax.nn.softplus(odd(X[i] @ z) * 1e3)  # noqa: E731
    minibatch = Minibatch({"rows": jnp.array(BLOCKS[0])})
    plain = potential_of(safe)
    found = [jax.grad(f)(Z, minibatch) for f in (plain, by_slices(plain))]
    np.testing.assert_array_equal(*found)
    assert jnp.isfinite(found[0]).all() and jnp.abs(found[0]).max() > 0


def model(x):
    z = numpyro.sample("z", dist.Normal(0.0, 1.0).expand([COLUMNS]).to_event(1))
    with numpyro.plate("rows", ROWS, subsample_size=BATCH) as index:
        numpyro.sample("x", dist.Normal(x[index] @ z, 1.0), obs=numpyro.subsample(GROUP, 0))


@pytest.mark.parametrize(
    "minibatch, slices", [(ContiguousMinibatch(), 2), (UniformMinibatch(), 0)], ids=repr
)
def test_a_kernel_slices_its_contiguous_minibatches(minibatch, slices):
    kernel = SGLD(model, 1e-3, minibatch=minibatch)
    mcmc = MCMC(kernel, num_warmup=0, num_samples=1, progress_bar=False)
    mcmc.run(jax.random.key(0), X)
    sample = lambda state: kernel.sample(state, (X,), {})  # noqa: E731
    assert count("dynamic_slice", sample, mcmc.last_state) == slices
