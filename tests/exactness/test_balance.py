"""Dynamics that keep the kinetic energy of all directions, against the linear dynamics for theory.

A thermostat and a momentum of fixed length take out by friction what gradient noise and old
gradients add. 64 chains of 256 coordinates are compared with variances from the linear recursion
whose friction `balanced` finds. Keys are fixed.
"""

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc.dynamics import Microcanonical, NoseHoover, Splitting
from numpyro_sgmcmc.staleness import FixedDelay, ageing
from numpyro_sgmcmc.stationary import balanced, relative_variance
from tests.marks import briefly
from tests.oracles.monte_carlo import Z

COUNT, STEPS, CHAINS = 256, 3_000, 64
CURVATURE = np.linspace(0.5, 4.0, COUNT)
NOISES = {
    "none": np.zeros(COUNT),
    "shared": np.full(COUNT, 4.0),
    "every other": 4.0 * (np.arange(COUNT) % 2),
    "a few": 20.0 * (np.arange(COUNT) % 16 == 0),
}
H, FRICTION = 0.25, 1.0
BOTH = {"thermostat": NoseHoover(FRICTION), "microcanonical": Microcanonical(FRICTION)}


class Setting(NamedTuple):
    """What is simulated: dynamics and noise by name, whether noise is corrected, the age."""

    dynamics: str
    noise: str = "none"
    corrected: bool = False
    age: int = 0
    h: float = H


@cache
def simulated(setting):
    """Return relative variances of the coordinates of each chain, (chains, d)."""
    dynamics, h = BOTH[setting.dynamics], setting.h
    noise = jnp.asarray(NOISES[setting.noise])
    curvature = jnp.asarray(CURVATURE)
    loud = jnp.sqrt(h * (1 - setting.corrected * h * noise / (2 * FRICTION)))

    def chain(key):
        key_start, key_aux, key_steps = jax.random.split(key, 3)
        start = jax.random.normal(key_start, (COUNT,)) / jnp.sqrt(curvature)

        def step(carry, key):
            z, aux, queries = carry
            key_noise, key_increment = jax.random.split(key)
            query = z + dynamics.lookahead(aux, h, z)
            queries = jnp.concatenate([queries[1:], query[None]])
            gradient = curvature * queries[0]
            gradient += jnp.sqrt(noise) * jax.random.normal(key_noise, (COUNT,))
            increment = loud * jax.random.normal(key_increment, (COUNT,))
            moved, aux = dynamics.step(aux, gradient, increment, jnp.asarray(h))
            return (z + moved, aux, queries), (z + moved) ** 2

        first = start, dynamics.init(key_aux, start, 1.0), jnp.stack([start] * (setting.age + 1))
        squares = jax.lax.scan(step, first, jax.random.split(key_steps, STEPS))[1]
        return squares[STEPS // 10 :].mean(0)

    squares = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(0), CHAINS))
    return np.asarray(squares, float) * CURVATURE


def theory(setting):
    """Return the linear dynamics, the numbers of a recursion, and the ages with the friction."""
    dynamics, noise = BOTH[setting.dynamics], NOISES[setting.noise]
    aged = ageing(FixedDelay(setting.age), None, dynamics, CURVATURE, np.ones(COUNT))
    given = setting.h, CURVATURE, noise, noise if setting.corrected else np.zeros(COUNT)
    linear, aged = balanced(dynamics.linearised(), *given, aged)
    return linear, given, aged


def predicted(setting):
    """Return relative variances from theory, with the term that the linear dynamics leave out."""
    linear, given, aged = theory(setting)
    forces = setting.h**2 * CURVATURE.mean() / 12 * (setting.dynamics == "microcanonical")
    return relative_variance(linear, *given, aged) * (1 + forces)


CASES = {
    f"{name}, {noise}{', corrected' * corrected}": Setting(name, noise, corrected)
    for name in BOTH
    for noise in NOISES
    for corrected in (False, True)
    # Nothing to correct, or more noise than there is to take out.
    if not (corrected and noise in ("none", "a few"))
}
QUICK = ["microcanonical, shared"]


@pytest.mark.parametrize("case", briefly(list(CASES), QUICK))
def test_variances_with_gradient_noise(case):
    """Groups of coordinates with the same noise, to 0.1 %; false-failure rate 6e-5 a group.

    `Splitting` would be too wide by h V / (2 D): 0.5 in "shared". Left out is what is of the next
    order: h^2 times the mean of V, relative to what noise that differs does.
    """
    setting = CASES[case]
    noise, shares, expected = NOISES[setting.noise], simulated(setting), predicted(setting)
    other = setting._replace(corrected=False)
    effect = np.abs(predicted(other) - predicted(other._replace(noise="none")))
    left = setting.h**2 * noise.mean() * effect * (np.ptp(noise) > 0)
    for group in np.unique(noise):
        here = noise == group
        gap = (shares - expected)[:, here].mean(1)
        error = gap.std(ddof=1) / np.sqrt(CHAINS)
        assert abs(gap.mean()) < Z * error + left[here].mean()


@pytest.mark.long
@pytest.mark.parametrize("name", BOTH)
def test_variances_with_old_gradients(name):
    """False-failure rate 6e-5 each."""
    setting = Setting(name, age=2, h=0.1)
    shares, expected = simulated(setting), predicted(setting)
    gap = (shares - expected).mean(1)
    error = gap.std(ddof=1) / np.sqrt(CHAINS)
    aged = ageing(FixedDelay(2), None, Splitting(FRICTION), CURVATURE, np.ones(COUNT))
    given = 0.1, CURVATURE, np.zeros(COUNT), np.zeros(COUNT)
    assert relative_variance(Splitting(FRICTION), *given, aged).mean() > 1 + 4 * (
        expected.mean() - 1
    )
    # The push of a kick depends on what is balanced, which for old gradients it should not.
    push = 0.1**2 * theory(setting)[2].damping[0] / 3 * (name == "microcanonical")
    assert abs(gap.mean()) < Z * error + push


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("noise", ["every other", "a few"])
def test_the_first_order_of_noise_is_that_of_the_docstrings(name, noise):
    """At h = 0.01, where the next order, h V, is some hundredths of it."""
    setting = Setting(name, noise, h=0.01)
    heat = setting.h * NOISES[noise] / (2 * FRICTION)
    expected = (1 + heat) / (1 + heat.mean()) - 1
    np.testing.assert_allclose(predicted(setting) - 1, expected, rtol=0.03, atol=1e-4)


def test_without_anything_to_balance_nothing_changes():
    zero = np.zeros(3)
    given = 0.5, np.array([0.5, 1.0, 2.0]), zero, zero
    linear = Microcanonical(2.0).linearised()
    found, aged = balanced(linear, *given)
    assert found == linear
    assert not aged.damping.any()


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("h", [1e-3, 30.0, 1e4])
@pytest.mark.parametrize("noise", [0.0, 1e-6, 1.0, 1e12])
def test_a_search_among_frictions_that_overflow_ends(name, h, noise):
    """Curvatures and noise of runs that diverged ask for frictions D with exp(D h) beyond limits.

    Steps settle that are small for the curvature and the friction.
    """
    linear = BOTH[name].linearised()
    for curvature in (1e-12, 1.0, 1e8):
        given = h, np.full(2, curvature), np.full(2, noise), np.zeros(2)
        found, aged = balanced(linear, *given)
        assert np.isfinite(aged.damping).all()
        variances = relative_variance(found, *given, aged)
        assert (variances > 0).all()
        assert np.isfinite(variances).all() or h**2 * curvature > 1 or h * FRICTION > 100
