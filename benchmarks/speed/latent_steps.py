"""Steps of a chain with latents of rows, without the preparation, and reads and writes by hand."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from benchmarks.speed.timing import Run, Side
from numpyro_sgmcmc import UniformMinibatch
from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.dynamics import Splitting
from numpyro_sgmcmc.latents import LatentState, LatentTable
from numpyro_sgmcmc.latents.columns import Columns, Row
from numpyro_sgmcmc.minibatch import AbstractMinibatch
from numpyro_sgmcmc.model import read_structure, stochastic_potential
from numpyro_sgmcmc.preconditioner import Identity
from numpyro_sgmcmc.stepper import Stepper
from numpyro_sgmcmc.transition import Transition, Walker

BATCH, FEWER, STEPS = 1_000, 200, 2_000
NUMBERS = 7
"""What a chain keeps of each row of `groups`."""


def groups(y: jax.Array, batch: int = BATCH) -> None:
    """A Gaussian effect of each row."""
    b = numpyro.sample("b", dist.Normal(0.0, 1.0))
    tau = numpyro.sample("tau", dist.HalfNormal(1.0))
    with numpyro.plate("rows", y.shape[0], subsample_size=batch) as i:
        a = numpyro.sample("a", dist.Normal(b, tau))
        numpyro.sample("y", dist.Normal(a, 1.0), obs=y[i])


def steps_of(rows: int, scheme: AbstractMinibatch | None = None) -> Side:
    """Return runs of the library's transitions from latents at the data."""
    y = jax.random.normal(jax.random.key(0), (rows,))
    structure = read_structure(groups, (y,), {})
    transition = Transition(Splitting(1.0), LatentTable(), Identity())
    scheme, h = scheme or UniformMinibatch(), jnp.float32(0.1 / rows)

    @partial(jax.jit, donate_argnums=0)
    def loop(walker: Walker, y: jax.Array, key: jax.Array, steps: jax.Array) -> Walker:
        plates = structure.plates
        potential = stochastic_potential(structure, (y,), {})
        stepper = Stepper(potential, transition, scheme, plates, True, 1.0, lambda count: h)

        def step(number: jax.Array, carry: tuple) -> tuple:
            walker, state = carry
            key_batch, key_noise = random.split(random.fold_in(key, number))
            minibatch, state = stepper.minibatch(key_batch, number, state)
            increment = stepper.increment(key_noise, walker.position, h)
            return stepper.step(walker, minibatch, increment, h).walker, state

        first = walker, scheme.init(key, plates=plates)
        return jax.lax.fori_loop(0, steps, step, first)[0]

    position = jnp.zeros(structure.dimension)
    aux = transition.dynamics.init(jax.random.key(1), position=position, temperature=1.0)
    return _sides(loop, Walker(position, aux, _latents(y)), y)


def _latents(y: jax.Array) -> LatentState:
    """Return a state with the latents at the data, for steps whose cost is measured."""
    rows = len(y)
    row = Row(
        values=y[:, None],
        discrete=jnp.zeros((rows, 0), jnp.int32),
        table=jnp.zeros((rows, 2)),
        factor=jnp.full((rows, 1, 1), 0.7),
        visits=jnp.zeros(rows, jnp.int32),
        mean=jnp.zeros((rows, 1)),
        square=jnp.zeros((rows, 1)),
    )
    columns, none = Columns.of(row), jnp.zeros((), jnp.int32)
    return LatentState(
        rows=columns.packed(row),
        columns=columns,
        total=jnp.zeros(2),
        step=jnp.ones(()),
        wait=none,
        moves=jnp.zeros((), jnp.int32),
        acceptance=jnp.zeros(()),
    )


def by_hand(rows: int) -> Side:
    """Return runs of a loop that reads and writes as many numbers of rows at random."""
    arrays = [jnp.zeros(rows) for _ in range(NUMBERS)]

    @partial(jax.jit, donate_argnums=0)
    def loop(arrays: list, y: jax.Array, key: jax.Array, steps: jax.Array) -> list:
        def step(number: jax.Array, arrays: list) -> list:
            own = random.fold_in(key, number)
            index = jax.random.randint(own, (BATCH,), 0, rows)
            return [x.at[index].set(x[index] + y[index]) for x in arrays]

        return jax.lax.fori_loop(0, steps, step, arrays)

    return _sides(loop, arrays, jax.random.normal(jax.random.key(0), (rows,)))


def rows_by_hand(rows: int, is_contiguous: bool = False) -> Side:
    """Return runs of such a loop with one array, in which the numbers of a row are neighbours.

    If `is_contiguous` is true, the rows of a step are neighbours too.
    """

    @partial(jax.jit, donate_argnums=0)
    def loop(array: jax.Array, y: jax.Array, key: jax.Array, steps: jax.Array) -> jax.Array:
        def step(number: jax.Array, array: jax.Array) -> jax.Array:
            own = random.fold_in(key, number)
            if is_contiguous:
                first = jax.random.randint(own, (), 0, rows - BATCH)
                some, of_rows = (jax.lax.dynamic_slice_in_dim(x, first, BATCH) for x in (y, array))
                new = of_rows + some[:, None]
                return jax.lax.dynamic_update_slice_in_dim(array, new, first, 0)
            index = jax.random.randint(own, (BATCH,), 0, rows)
            return array.at[index].set(array[index] + y[index][:, None])

        return jax.lax.fori_loop(0, steps, step, array)

    return _sides(loop, jnp.zeros((rows, NUMBERS)), jax.random.normal(jax.random.key(0), (rows,)))


def _sides(loop: Any, first: Any, y: jax.Array) -> Side:
    """Return a short and a long run of one program, which goes on where the last one ended."""
    last = {"state": first}

    def run_of(steps: int) -> Run:
        def once() -> Any:
            key = jax.random.key(2)
            last["state"] = loop(last["state"], y, key, jnp.asarray(steps, jnp.int32))
            return jax.block_until_ready(last["state"])

        return once

    return Side(run_of(FEWER), run_of(FEWER + STEPS), STEPS)
