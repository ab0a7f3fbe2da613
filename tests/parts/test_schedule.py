"""Step-size schedules against their formulas, and Optax's as they are."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from numpyro_sgmcmc import cyclical, polynomial
from tests.contract.problem import BASES, PAIRS, data, model
from tests.registry import make

COUNTS = np.arange(200)


def test_polynomial():
    found = jax.vmap(polynomial(0.3, 5.0, 0.55))(COUNTS)
    np.testing.assert_allclose(found, 0.3 * (5.0 + COUNTS) ** -0.55, rtol=1e-5)
    np.testing.assert_allclose(polynomial(0.3, gamma=0.0)(7), 0.3, rtol=1e-6)


def test_cyclical():
    expected = 0.5 * 0.2 * (np.cos(np.pi * (COUNTS % 30) / 30) + 1)
    np.testing.assert_allclose(jax.vmap(cyclical(0.2, 30))(COUNTS), expected, rtol=1e-4, atol=1e-7)
    one_cycle = optax.cosine_decay_schedule(0.2, 30)
    found = [cyclical(0.2, 30)(count) for count in range(30)]
    np.testing.assert_allclose(found, [one_cycle(count) for count in range(30)], rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "schedule"),
    [
        (BASES[0], polynomial(1e-3, 2.0, 0.5)),
        pytest.param(BASES[0], optax.exponential_decay(1e-3, 2, 0.5), marks=pytest.mark.long),
        pytest.param(BASES[0], lambda count: 1e-3 / (1 + count), marks=pytest.mark.long),
        (PAIRS[0], cyclical(1e-3, 4)),
    ],
    ids=["polynomial", "optax", "lambda", "pair"],
)
def test_kernels_follow_the_count_of_transitions(name, schedule):
    kernel = make(name, model, schedule, num_steps=2)
    state = kernel.init(jax.random.key(0), 0, None, data(), {})
    advance = jax.jit(lambda s: kernel.sample(s, data(), {}))
    # Durmus et al. 2016, equation 6: draws of step k are weighted by the step size of step k + 1.
    shift = 1 if name in PAIRS else 0
    for i in range(3):
        state = advance(state)
        np.testing.assert_allclose(state.step_size, schedule(2 * i + 1), rtol=1e-5, atol=1e-9)
        weight = schedule(2 * i + shift) + schedule(2 * i + 1 + shift)
        np.testing.assert_allclose(state.weight, weight, rtol=1e-5, atol=1e-9)
    assert jnp.isfinite(state.z["w"]).all()
