"""Gibbs moves and a user's own move leave the exact conditional distribution as it is.

Frequencies of independent replicates are compared with enumeration by exact binomial tails;
false-failure rate 6e-5 a comparison, also where means are compared (|z| < 4); keys fixed.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.infer.util import log_density
from scipy.stats import binom

from numpyro_sgmcmc.latents import LatentTable, first_state, redrawn
from numpyro_sgmcmc.latents.moves import moved_together, visited
from numpyro_sgmcmc.model import read_structure, stochastic_potential
from numpyro_sgmcmc.types import Minibatch
from tests.latents import discrete
from tests.marks import briefly

DATA = {
    "shifted": discrete.Y.astype(np.float32),
    "belief": discrete.BITS,
    "classes": discrete.Y.astype(np.float32),
    "both": discrete.Y.astype(np.float32),
}
REPLICATES, SWEEPS = 4_000, 25
RARE = 3e-5
"""Probability of each tail beyond which a frequency is not one of chance."""


@cache
def joint(name, move="gibbs"):
    model, y = getattr(discrete, name), jnp.asarray(DATA[name])
    structure = read_structure(model, (y,), {}, move)
    return model, y, structure, stochastic_potential(structure, (y,), {})


def point(structure):
    return 0.7 * jax.random.normal(jax.random.key(1), (structure.dimension,))


@pytest.mark.parametrize("name", briefly(DATA, [], ["belief", "both"]))
def test_the_parts_add_up_to_numpyro_s_log_density(name):
    """The shared parameters are real numbers, so that no transform has a part in it."""
    model, y, structure, potential = joint(name)
    local, position, rows = structure.local, point(structure), jnp.arange(len(y))
    latents = jax.random.normal(jax.random.key(2), (len(y), local.dimension))
    values = potential.drawn(jax.random.key(3), position, rows)
    sites = structure.unravel(position) | local.unravel(latents) | local.unravel_discrete(values)
    exact = log_density(model, (y, None), {}, sites)[0]
    each = jax.vmap(lambda *row: potential.row(position, *row)[0])(latents, rows, values)
    np.testing.assert_allclose(-potential.shared(position) - each.sum(), exact, rtol=1e-5)


def conditional(potential, position, rows):
    """Return all joint values, (states, m), and their probabilities in each row."""
    local = potential.structure.local
    states = jnp.asarray(discrete.states_of(local))
    nothing = jnp.zeros(0)
    energy = lambda row, state: potential.row(position, nothing, row, state)[0]  # noqa: E731
    found = jax.vmap(jax.vmap(energy, (None, 0)), (0, None))(rows, states)
    return np.asarray(states), np.asarray(jax.nn.softmax(-found, axis=1), np.float64)


MOVES = [("belief", "gibbs"), ("classes", "gibbs"), ("shifted", discrete.moved)]


@pytest.mark.parametrize(("name", "move"), briefly(MOVES, [MOVES[0], MOVES[2]]))
def test_moves_lead_to_the_conditional_distribution_and_stay_there(name, move):
    _, y, structure, potential = joint(name, move)
    local, position, rows = structure.local, point(structure), jnp.arange(len(y))
    latents = jnp.zeros((len(y), 0))

    @jax.jit
    @jax.vmap
    def chain(key):
        def body(number, values):
            own = jax.random.fold_in(key, number)
            return redrawn(potential, position, latents, values, rows, own)

        return jax.lax.fori_loop(0, SWEEPS, body, local.some_discrete(len(y)))

    found = np.asarray(chain(jax.random.split(jax.random.key(5), REPLICATES)))
    states, exact = conditional(potential, position, rows)
    counts = (found[:, :, None] == states).all(-1).sum(0)
    assert (counts.sum(1) == REPLICATES).all()
    tails = np.minimum(
        binom.cdf(counts, REPLICATES, exact), binom.sf(counts - 1, REPLICATES, exact)
    )
    assert (tails > RARE).all(), (counts / REPLICATES, exact, tails)


def test_continuous_and_discrete_latents_of_a_row_together():
    """Given m, y is N(m + 2 c, 2), and a given c is N((m + y - 2 c) / 2, 1 / 2)."""
    _, y, structure, potential = joint("both")
    position, rows = point(structure), jnp.arange(len(y))
    factor = jnp.full((len(y), 1, 1), np.sqrt(0.5))

    @jax.jit
    @jax.vmap
    def chain(key):
        def body(number, before):
            own = jax.random.fold_in(key, number)
            given = factor, jnp.asarray(1.0), own
            return moved_together(potential, position, before, rows, *given)[0]

        values = structure.local.some_discrete(len(y))
        first = visited(potential, position, jnp.zeros((len(y), 1)), rows, values)
        after = jax.lax.fori_loop(0, 60, body, first)
        return jnp.concatenate([after.latents, after.discrete], axis=1)

    found = np.asarray(chain(jax.random.split(jax.random.key(5), REPLICATES)), np.float64)
    m, away = float(position[0]), np.asarray(y) - float(position[0])
    logits = np.log(discrete.CHANCE / (1 - discrete.CHANCE)) + (away**2 - (away - 2) ** 2) / 4
    chance = 1 / (1 + np.exp(-logits))
    mean = (m + np.asarray(y) - 2 * chance) / 2
    exact = np.stack([mean, chance], 1)
    sd = np.stack([np.sqrt(0.5 + chance * (1 - chance)), np.sqrt(chance * (1 - chance))], 1)
    score = (found.mean(0) - exact) / (sd / np.sqrt(REPLICATES))
    assert (np.abs(score) < 4).all(), score


@pytest.mark.long
def test_the_estimate_keeps_table_probabilities_and_other_rows():
    """Half of the kick is given with the new latents; a row that is drawn twice moves once."""
    _, y, structure, potential = joint("belief")
    position, size = point(structure), len(y)
    values = potential.drawn(jax.random.key(3), position, jnp.arange(size))
    nothing = jnp.zeros((size, 0)), jnp.zeros((size, 0, 0)), jnp.ones(())
    state = first_state(potential, position, *nothing, values)
    rows = jnp.array([0, 3, 3])

    @jax.jit
    def estimate(key):
        return LatentTable().estimate(potential, position, Minibatch({"rows": rows}, key), state)

    found, after = estimate(jax.random.key(4))
    shared = jax.grad(potential.shared)(position)
    expected = shared + (state.total + after.total) / 2
    np.testing.assert_allclose(found.gradient, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(after.total, after.table.sum(0), rtol=1e-4, atol=1e-4)
    assert (after.discrete != state.discrete).any()
    assert (after.discrete[1:3] == state.discrete[1:3]).all()
    assert after.visits.tolist() == [1, 0, 0, 1]
    assert (after.mean[jnp.array([0, 3])] == after.discrete[jnp.array([0, 3])]).all()
    assert after.square.shape == (size, 0)
