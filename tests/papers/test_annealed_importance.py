"""Annealed importance sampling against sums over all hidden states.

Weights are unbiased for p(v): means of independent runs are within 4 Monte Carlo standard errors of
it, false-failure rate 6e-5 an image; keys fixed. Moves that are wrong are told from right ones by
the same comparison.
"""

from functools import cache, partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.papers.annealed_importance import Network, ladder, log_weights, swept
from benchmarks.papers.p000_belief import drawn, log_probabilities

UNITS, PIXELS, IMAGES, RUNS = 8, 6, 4, 4_000
POWERS = ladder(6)
"""So few that wrong moves matter."""


@cache
def setting():
    key_weight, key_bias, key_offset, key_images = jax.random.split(jax.random.key(0), 4)
    network = Network(
        1.5 * jax.random.normal(key_weight, (UNITS, PIXELS)),
        2.0 * jax.random.normal(key_bias, (UNITS,)),
        jax.random.normal(key_offset, (PIXELS,)),
    )
    images = jax.random.bernoulli(key_images, 0.5, (IMAGES, PIXELS)).astype(jnp.float32)
    return network, images


def by_enumeration(network, images):
    """Return p(v, h), (images, states), in double precision, one state after the other."""
    weight, bias, offset = (np.asarray(part, np.float64) for part in network)
    images = np.asarray(images, np.float64)
    found = []
    for state in product([0, 1], repeat=len(bias)):
        hidden = np.array(state)
        on = 1 / (1 + np.exp(-(hidden @ weight + offset)))
        unit = 1 / (1 + np.exp(-bias))
        prior = np.prod(np.where(hidden == 1, unit, 1 - unit))
        found.append(prior * np.prod(np.where(images == 1, on, 1 - on), axis=1))
    return np.stack(found, axis=1)


def score_of(sweep, powers=POWERS):
    """Return the deviation of the mean weight from p(v) in standard errors, by image."""
    network, images = setting()

    @jax.jit
    @jax.vmap
    def run(key):
        return log_weights(key, network, images, jnp.asarray(powers, jnp.float32), sweep)

    found = np.exp(np.asarray(run(jax.random.split(jax.random.key(1), RUNS)), np.float64))
    exact = by_enumeration(network, images).sum(1)
    return (found.mean(0) - exact) / (found.std(0, ddof=1) / np.sqrt(RUNS))


def test_the_mean_weight_is_the_probability():
    score = score_of(swept)
    assert (np.abs(score) < 4).all(), score


def of_another_power(key, network, images, hidden, power):
    return swept(key, network, images, hidden, power**2)


def without_the_prior(key, network, images, hidden, power):
    return swept(key, network._replace(bias=0 * network.bias), images, hidden, power)


@pytest.mark.parametrize("wrong", [of_another_power, without_the_prior])
def test_wrong_moves_are_told(wrong):
    assert np.abs(score_of(wrong)).max() > 4


def test_powers_that_do_not_reach_one_are_told():
    assert np.abs(score_of(swept, 0.9 * POWERS)).max() > 4


def test_the_ladder_goes_from_the_prior_to_the_posterior():
    assert POWERS[0] == 0 and POWERS[-1] == 1 and (np.diff(POWERS) > 0).all()


def test_sums_over_states_are_those_of_a_loop():
    """To rounding in single precision."""
    network, images = setting()
    found = np.asarray(log_probabilities(network, images))
    np.testing.assert_allclose(found, np.log(by_enumeration(network, images).sum(1)), rtol=1e-5)


def test_hidden_units_are_drawn_from_their_conditional_distribution():
    """Frequencies of units, and of pairs of them, within 4.5 standard errors: 1e-3 for all 144."""
    network, images = setting()
    draw = jax.jit(jax.vmap(partial(drawn, network=network, images=images)))
    found = np.asarray(draw(jax.random.split(jax.random.key(2), RUNS)), np.float64)
    joint = by_enumeration(network, images)
    states = np.array(list(product([0, 1], repeat=UNITS)), np.float64)
    exact = np.einsum("is,sj,sk->ijk", joint / joint.sum(1, keepdims=True), states, states)
    error = np.sqrt(exact * (1 - exact) / RUNS)
    pairs = np.einsum("rij,rik->ijk", found, found) / RUNS
    assert (np.abs(pairs - exact) < 4.5 * error).all()
