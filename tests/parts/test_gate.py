"""The switch of the CPU folder, and that both of its positions give the same numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC

from numpyro_sgmcmc import (
    SGLD,
    SGRRLD,
    ContiguousMinibatch,
    FixedPoint,
    ReshuffledMinibatch,
    SGHMCSplit,
)
from numpyro_sgmcmc.cpu import gate, random, slices
from numpyro_sgmcmc.cpu.assembly import MANY_NUMBERS
from numpyro_sgmcmc.cpu.slices import by_slices
from numpyro_sgmcmc.cpu.sums import column_sums
from numpyro_sgmcmc.cpu.trips import in_two_trips, kept
from numpyro_sgmcmc.minibatch import uniform_rows
from numpyro_sgmcmc.minibatch.permutation import rounds
from numpyro_sgmcmc.model.flat import flat_maps
from numpyro_sgmcmc.types import Minibatch, Plate
from tests.marks import briefly

ROUNDING = 2e-5
"""Of a draw relative to the largest one: a few roundings of 6e-8 a step, over 50 steps."""


def model(x, y):
    w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([3]).to_event(1))
    with numpyro.plate("rows", len(x), subsample_size=8) as i:
        numpyro.sample("y", dist.Normal(x[i] @ w, 1.0), obs=y[i])


X = jax.random.normal(jax.random.key(0), (40, 3))
Y = X @ jnp.array([1.0, -1.0, 0.5]) + jax.random.normal(jax.random.key(1), (40,))
KERNELS = {
    "slices": lambda: SGLD(model, 5e-3, minibatch=ContiguousMinibatch()),
    "anchor": lambda: SGHMCSplit(model, 5e-2, friction=5.0, gradient=FixedPoint()),
    "two walkers": lambda: SGRRLD(model, 5e-3),
    "epochs": lambda: SGHMCSplit(model, 5e-2, friction=5.0, minibatch=ReshuffledMinibatch()),
}


@pytest.fixture
def plain(monkeypatch):
    """Return a function that asks for plain JAX, and makes the use of anything else an error."""

    def forbidden(*_, **__):
        raise AssertionError("not plain JAX")

    def switch():
        monkeypatch.setenv(gate.VARIABLE, "1")
        for module, name in ((random, "hashed"), (random, "mixed"), (slices, "_rewritten")):
            monkeypatch.setattr(module, name, forbidden)

    return switch


@pytest.mark.parametrize("value, on", [(None, True), ("", True), ("0", True), ("1", False)])
def test_the_environment_variable(monkeypatch, value, on):
    monkeypatch.delenv(gate.VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(gate.VARIABLE, value)
    assert gate.is_on() is on


def test_another_value_of_the_variable_is_an_error(monkeypatch):
    monkeypatch.setenv(gate.VARIABLE, "yes")
    with pytest.raises(ValueError, match="to be 0 or 1; got 'yes'"):
        gate.is_on()


def test_a_gpu_runs_plain_jax(monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert not gate.is_on()


def drawn(key):
    yield from random.split(key)
    yield from random.keys_of(key, 3)
    yield random.fold_in(key, jnp.asarray(5))
    yield random.bits(key, (2, 5))
    yield random.uniform(key, (5,), jnp.float32, -2.0, 2.0)
    yield random.normal(key, (5,), jnp.float32)
    yield random.signs(key, (5,), jnp.float32)
    yield from (uniform_rows(key, (5,), size) for size in (40, 2**23))


def test_random_numbers_agree_to_the_bit(plain):
    found = lambda: jax.jit(lambda key: list(drawn(key)))(jax.random.PRNGKey(7))  # noqa: E731
    ours, keys = found(), random.keys_of(jax.random.PRNGKey(7), 3)
    plain()
    jax.tree.map(np.testing.assert_array_equal, ours, found())
    jax.tree.map(np.testing.assert_array_equal, keys, random.keys_of(jax.random.PRNGKey(7), 3))


def test_slices_and_their_gradients_agree_to_the_bit(plain):
    potential = lambda z, minibatch: jnp.sum((X[minibatch.indices["rows"]] @ z) ** 2)  # noqa: E731
    minibatch = Minibatch({"rows": jnp.arange(8) + 3})
    found = lambda: jax.jit(jax.value_and_grad(by_slices(potential)))(jnp.ones(3), minibatch)  # noqa: E731
    ours = found()
    plain()
    jax.tree.map(np.testing.assert_array_equal, ours, found())


def test_long_vectors_and_their_gradients_agree_to_the_bit(plain):
    shapes = {"a": (), "b": (MANY_NUMBERS // 4, 4), "c": (3,)}
    keys = jax.random.split(jax.random.key(0), len(shapes))
    values = {n: jax.random.normal(k, s) for k, (n, s) in zip(keys, shapes.items(), strict=True)}
    maps = flat_maps(values)
    energy = lambda z: sum(jnp.sum(jnp.sin(x)) for x in maps.unravel(z).values())  # noqa: E731

    def found():
        position = jax.jit(lambda values: maps.ravel(values))(values)
        return position, jax.jit(jax.grad(lambda z: energy(z)))(position)

    def branches():
        return str(jax.make_jaxpr(lambda values: maps.ravel(values))(values)).count("cond[")

    ours, is_in_a_branch = found(), branches()
    plain()
    jax.tree.map(np.testing.assert_array_equal, ours, found())
    assert (is_in_a_branch, branches()) == (1, 0)


@pytest.mark.parametrize("name", briefly(KERNELS, ["slices"]))
def test_runs_agree(plain, name):
    def run():
        mcmc = MCMC(KERNELS[name](), num_warmup=0, num_samples=50, num_chains=2,
                    chain_method="vectorized", progress_bar=False)  # fmt: skip
        mcmc.run(jax.random.key(3), X, Y)
        return mcmc.get_samples()["w"], mcmc.last_state.rng_key

    draws, key = run()
    plain()
    plain_draws, plain_key = run()
    scale = jnp.abs(draws).max()
    np.testing.assert_allclose(plain_draws, draws, rtol=0, atol=ROUNDING * scale)
    assert jnp.array_equal(*map(jax.random.key_data, (plain_key, key)))
    assert jnp.std(draws) > 0.01


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8])
def test_two_trips_make_every_entry_once(count):
    made = jax.jit(lambda y: y[in_two_trips(count, lambda places: places * places)])(jnp.arange(99))
    assert np.array_equal(made, np.arange(count) ** 2)


def test_rows_of_an_epoch_are_not_computed_again_where_they_are_read():
    """Each of three gathers would otherwise hash the rows anew, for each number that it takes."""
    scheme, plates = ReshuffledMinibatch(), {"rows": Plate(1_000, 200)}

    def read(state, tables):
        indices, _ = scheme.draw(jax.random.key(1), jnp.zeros((), jnp.int32), plates, state)
        return [table[indices["rows"]].sum(0) for table in tables]

    state = scheme.init(jax.random.key(0), plates)
    tables = [jnp.ones((1_000, count)) for count in (1, 3, 5)]
    program = jax.jit(read).lower(state, tables).compile().as_text()
    assert program.count(str(0x85EBCA6B)) == 1  # a multiplier of the hash


@pytest.mark.parametrize("columns", [1, 2, 5, 128, 200])
@pytest.mark.parametrize("rows", [1, 63, 64, 1_000])
def test_column_sums(rows, columns):
    y = np.arange(rows * columns, dtype=np.float32) % 7
    expected = y.reshape(rows, columns).sum(0)  # whole numbers, so that their order does not matter
    np.testing.assert_array_equal(column_sums(jnp.asarray(y), columns), expected)


def test_a_small_product_is_not_computed_again_where_it_is_spread():
    """XLA would otherwise split the product and add its parts for each entry of the array."""
    factor = jnp.eye(14) + 1.0
    spread = lambda y: y + jnp.broadcast_to(kept(factor @ y[:14]), (500, 14)).ravel()  # noqa: E731
    program = jax.jit(jax.vmap(spread)).lower(jnp.ones((4, 7_000))).compile().as_text()
    assert "while(" in program
    found = jax.jit(jax.vmap(spread))(jnp.ones((4, 7_000)))
    np.testing.assert_allclose(found, 16.0)  # 1 + (14 + 1)


def test_the_rounds_of_a_permutation_are_not_an_array():
    """XLA would compute the words of all rounds again in each round: 7 times as long."""
    scheme, plates = ReshuffledMinibatch(), {"rows": Plate(1_000, 200)}
    draw = lambda state: scheme.draw(None, 0, plates, state)[0]["rows"]  # noqa: E731
    state = scheme.init(jax.random.key(0), plates)
    program = jax.jit(draw).lower(state).compile().as_text()
    assert f"u32[{rounds(1_000)},100]" not in program
