"""Limits in which a kernel is a simpler algorithm."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from numpyro.infer.util import potential_energy

from numpyro_sgmcmc.kernels.stepping import stepper_of
from numpyro_sgmcmc.state import gradient_state
from numpyro_sgmcmc.stepper import Stepper
from numpyro_sgmcmc.transition import Walker
from tests.contract.problem import (
    ANCHOR,
    BASES,
    DISTINCT,
    NAMES,
    PAIRS,
    SOME,
    assert_same,
    data,
    shared,
)
from tests.exactness.setting import varying_data
from tests.marks import briefly
from tests.oracles import linear
from tests.registry import KERNELS, make

H, FRICTION = 2e-3, 5.0


def _descend(gradient, z, p, h):
    return z - h * gradient(z), p


def _heavy_ball(gradient, z, p, h):
    p = p - h * (FRICTION * p + gradient(z))
    return z + h * p, p


def _split(gradient, z, p, h):
    z = z + p * h / 2
    p = np.exp(-FRICTION * h / 2) * p - h * gradient(z)
    p = np.exp(-FRICTION * h / 2) * p
    return z + p * h / 2, p


def _flight(gradient, z, p, h):
    p = p - h * gradient(z)
    damp = np.exp(-FRICTION * h)
    return z + (1 - damp) / FRICTION * p, damp * p


def _thermostat(gradient, z, aux, h):
    p, xi = aux
    z, xi = z + p * h / 2, xi + p @ p / 2 * h / 2
    p = np.exp(-xi * h / 2) * (np.exp(-xi * h / 2) * p - h * gradient(z))
    return z + p * h / 2, (p, xi + p @ p / 2 * h / 2)


def _late_split(gradient, z, aux, h):
    p, query = aux
    new = z + p * h / 2
    p = np.exp(-FRICTION * h / 2) * p - h * gradient(new if query is None else query)
    p = np.exp(-FRICTION * h / 2) * p
    return new + p * h / 2, (p, new)


ODE_STEP = {
    "langevin": _descend,
    "hamiltonian": _heavy_ball,
    "splitting": _split,
    "exact friction": _flight,
    "thermostat": _thermostat,
    "late splitting": _late_split,
}


OPTIMISING = [name for name in NAMES if KERNELS[name].replicas == 1 and KERNELS[name].can_optimise]


@pytest.mark.parametrize("name", briefly(OPTIMISING, [n for n in DISTINCT if n in OPTIMISING]))
def test_zero_temperature_and_full_batch_give_the_ode_step(name):
    entry = KERNELS[name]
    arrays = [jnp.asarray(x, jnp.float32) for x in varying_data()]
    start = {"theta": jnp.array([0.3, -1.0])}
    kernel = make(name, linear.model, H, friction=FRICTION, anchor=start, temperature=0.0)
    state = kernel.init(jax.random.key(0), 0, start, (*arrays, None), {})
    advance = jax.jit(lambda s: kernel.sample(s, (*arrays, None), {}))
    for _ in range(5):
        state = advance(state)

    @jax.jit
    def gradient(theta):
        energy = partial(potential_energy, linear.model, (*arrays, None), {})
        return jax.grad(lambda t: energy({"theta": t}))(theta)

    def follow(h, steps):
        z, p = start["theta"], jnp.zeros(2)
        p = {"thermostat": (p, FRICTION), "late splitting": (p, None)}.get(entry.dynamics, p)
        for _ in range(steps):
            z, p = ODE_STEP[entry.dynamics](gradient, z, p, h)
        return z

    if entry.pair:
        np.testing.assert_allclose(state.z_coarse["theta"], follow(H, 5), rtol=1e-5)
        np.testing.assert_allclose(state.z_halfway["theta"], follow(H / 2, 9), rtol=1e-5)
        np.testing.assert_allclose(state.z["theta"], follow(H / 2, 10), rtol=1e-5)
    else:
        np.testing.assert_allclose(state.z["theta"], follow(H, 5), rtol=1e-5)


@pytest.mark.parametrize("name", briefly(PAIRS, ["SGRRLD", "RichardsonRomberg(SGHMCSplit)"]))
def test_coarse_walker_is_a_plain_run_on_the_same_increments(name, monkeypatch):
    kernel = shared(name)
    state = kernel.init(jax.random.key(0), 0, ANCHOR, data(), {})
    plain = Walker(ravel_pytree(state.z)[0], state.aux, state.gradient)
    calls, step = [], Stepper.step

    @jax.jit
    def advance(state):
        inside = []

        def recorded(self, walker, minibatch, increment, step_size):
            inside.append((minibatch, increment, step_size))
            return step(self, walker, minibatch, increment, step_size)

        with monkeypatch.context() as patch:
            patch.setattr(Stepper, "step", recorded)
            return kernel.sample(state, data(), {}), inside

    for _ in range(3):
        state, inside = advance(state)
        calls += inside
    stepper = stepper_of(kernel.options, kernel.structure, data(), {}, state.tuned)
    follow = jax.jit(lambda walker, *call: stepper.step(walker, *call).walker)
    assert len(calls) == 9
    for k in range(0, 9, 3):
        coarse, first, second = calls[k : k + 3]
        assert tuple(float(call[2]) for call in (coarse, first, second)) == pytest.approx(
            (1e-3, 5e-4, 5e-4)
        )
        np.testing.assert_allclose(coarse[1], first[1] + second[1], rtol=1e-6)
        rows = [tuple(np.asarray(call[0].indices["rows"])) for call in (coarse, first, second)]
        assert len(set(rows)) == 3
        plain = follow(plain, *coarse)
    np.testing.assert_allclose(plain.position, ravel_pytree(state.z_coarse)[0], rtol=1e-5)


@pytest.mark.parametrize("name", briefly(BASES, ["SGLD", "SGHMCSplit", "SAGALD", "SGNHT"]))
def test_zero_delay_is_synchronous(name):
    """`query`, a gradient taken elsewhere, and `apply` are `step`."""
    kernel = shared(name)
    state = kernel.init(jax.random.key(0), 0, ANCHOR, data(), {})
    stepper = stepper_of(kernel.options, kernel.structure, data(), {}, state.tuned)
    walker = Walker(ravel_pytree(state.z)[0], state.aux, gradient_state(state))
    h = jnp.asarray(1e-3)
    transition = stepper.transition

    @jax.jit
    def both(walker, key):
        key_batch, key_noise = jax.random.split(key)
        minibatch, _ = stepper.minibatch(key_batch, 0, state.minibatch)
        increment = stepper.increment(key_noise, walker.position, h)
        estimate, gradient = transition.gradient.estimate(
            stepper.potential, transition.query(walker, h), minibatch, walker.gradient
        )
        delayed = transition.apply(walker, estimate.gradient, increment, h)
        return delayed._replace(gradient=gradient), stepper.step(walker, minibatch, increment, h)

    for n in range(3):
        delayed, moved = both(walker, jax.random.key(n))
        assert_same(delayed, moved.walker)
        assert not np.allclose(walker.position, moved.walker.position, atol=1e-6)
        walker = moved.walker


@pytest.mark.parametrize("name", ["SGLD", "SGHMCSplit", "SGRRLD"])
def test_refused_steps_stay_and_are_counted(name):
    kernel = make(name, linear.model, 1e30)
    arrays = [jnp.asarray(x, jnp.float32) for x in varying_data()]
    start = {"theta": jnp.array([0.3, -1.0])}
    state = kernel.init(jax.random.key(0), 0, start, (*arrays, 3), {})
    advance = jax.jit(lambda s: kernel.sample(s, (*arrays, 3), {}))
    for _ in range(4):
        before, state = state, advance(state)
        assert np.isfinite(state.z["theta"]).all()
        if state.diverging:
            np.testing.assert_array_equal(before.z["theta"], state.z["theta"])
    assert 0 < state.num_diverging <= 4


@pytest.mark.parametrize("name", SOME)
def test_no_key_is_used_twice(name, monkeypatch):
    kernel = shared(name)
    state = kernel.init(jax.random.key(0), 0, ANCHOR, data(), {})
    used = [state.rng_key]

    @jax.jit
    def advance(state):
        inside = []

        def noted(method):
            def call(self, key, *rest):
                inside.append(key)
                return method(self, key, *rest)

            return call

        with monkeypatch.context() as patch:
            patch.setattr(Stepper, "increment", noted(Stepper.increment))
            patch.setattr(Stepper, "minibatch", noted(Stepper.minibatch))
            return kernel.sample(state, data(), {}), inside

    for _ in range(2):
        state, inside = advance(state)
        used += [*inside, state.rng_key]
    keys = {tuple(np.asarray(jax.random.key_data(key))) for key in used}
    assert len(keys) == len(used) == (13 if name in PAIRS else 7)
