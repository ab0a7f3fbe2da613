"""The cost of a step does not depend on the number of rows."""

import re

import jax
import jax.numpy as jnp
import pytest

from numpyro_sgmcmc.latents import LatentTable, PlainAtLatents, first_state
from numpyro_sgmcmc.model import read_structure, stochastic_potential
from numpyro_sgmcmc.types import Minibatch
from tests.latents.discrete import both
from tests.latents.problem import gaussian

ROWS, CHAINS = 1_009, 3
"""A prime number of rows, which no other array has."""
MODELS = {"continuous": gaussian, "with discrete ones": both}


@pytest.mark.parametrize("gradient", [LatentTable(), PlainAtLatents()], ids=["table", "plain"])
@pytest.mark.parametrize("name", MODELS)
def test_a_loop_of_steps_copies_no_array_of_all_rows(name, gradient):
    """The compiled program of a loop over estimates copies such arrays before the loop only."""
    y = jnp.zeros(ROWS)
    structure = read_structure(MODELS[name], (y, 2), {})
    potential = stochastic_potential(structure, (y, 2), {})
    position = jnp.zeros(structure.dimension)

    def first(_):
        factor = jnp.ones((ROWS, 1, 1))
        discrete = structure.local.some_discrete(ROWS)
        given = jnp.zeros((ROWS, 1)), factor, jnp.asarray(1.0), discrete
        return first_state(potential, position, *given, isinstance(gradient, LatentTable))

    def step(number, state):
        minibatch = Minibatch({"rows": jnp.array([3, 5]) + number}, jax.random.key(0))
        return gradient.estimate(potential, position, minibatch, state)[1]

    def loop(states):
        return jax.lax.fori_loop(
            0, 9, lambda number, s: jax.vmap(lambda one: step(number, one))(s), states
        )

    states = jax.eval_shape(jax.vmap(first), jnp.zeros(CHAINS))
    program = jax.jit(loop).lower(states).compile().as_text()
    outside = program[program.index("\nENTRY ") :]
    copied = re.compile(rf"= \w+\[{CHAINS},{ROWS},?[1-9,]*\]\S* copy\(")
    assert copied.search(outside)  # The inputs are not the program's own.
    found = copied.findall(program.removesuffix(outside))
    assert not found, found
