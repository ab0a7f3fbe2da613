"""A test of the tests: each classic bug in the library makes a check of the distribution fail.

The test that runs on the mutated library is one that passes on the unchanged library. Each case
names the smallest such test that detects the bug. Comparisons fail by at least 14 standard errors,
where 4 are allowed.
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.dynamics import ExactFriction, Hamiltonian, Langevin, Splitting
from numpyro_sgmcmc.gradient import FixedPoint
from numpyro_sgmcmc.kernels import base
from numpyro_sgmcmc.model.handlers import minibatched
from numpyro_sgmcmc.stepper import Stepper
from tests.exactness import mutations as bug
from tests.exactness import test_stationary_distribution as stationary
from tests.marks import briefly
from tests.registry import make


def _kernel(name):
    return partial(
        stationary.check_distribution,
        name,
        stationary.STEP_SIZES[stationary.KERNELS[name].dynamics][1:2],
    )


def _heated(dynamics):
    check = stationary.test_temperature_multiplies_the_variance_of_the_noise
    return partial(check, dynamics, 2.0)


MUTATIONS = [  # a kernel or a check, and what is replaced by what
    ("SGLD", {(Stepper, "increment"): bug.increment_without_root}),
    ("SGLD", {(Stepper, "increment"): bug.increment_with_root_twice}),
    ("SGLD", {(Langevin, "step"): bug.langevin_without_root_two}),
    ("SGLD", {(minibatched, "process_message"): bug.likelihood_unscaled}),
    ("SGLD", {(base, "taken"): bug.key_never_advanced}),
    (_heated("langevin"), {(Stepper, "increment"): bug.increment_with_temperature_as_deviation}),
    ("SGHMCSplit", {(Splitting, "lookahead"): bug.whole_first_drift}),
    ("SGHMCSplit", {(Splitting, "step"): bug.whole_second_drift}),
    ("SGHMCSplit", {(Splitting, "step"): bug.whole_first_damp}),
    ("SGHMCSplit", {(Splitting, "step"): bug.whole_second_damp}),
    ("SGHMC", {(Hamiltonian, "step"): bug.damping_with_friction_squared}),
    ("SGHMC", {(Hamiltonian, "step"): bug.noise_proportional_to_friction}),
    ("SGHMC", {(Hamiltonian, "step"): bug.old_momentum_moves}),
    ("UBU", {(ExactFriction, "step"): bug.independent_noises}),
    ("SGLDFP", {(FixedPoint, "estimate"): bug.control_variate_with_wrong_sign}),
    ("SGLDFP", {(FixedPoint, "estimate"): bug.anchor_taken_for_a_mode}),
    ("SGRRLD", {(Stepper, "increment"): bug.first_key_twice}),
    (
        "SGRRLD",
        {
            (Stepper, "increment"): bug.note_key,
            (Stepper, "step"): bug.coarse_walker_on_its_own_path,
        },
    ),
    ("SGRRLD", {(Stepper, "minibatch"): bug.one_minibatch_for_all_walkers}),
]


@pytest.mark.parametrize(
    ("check", "mutation"),
    briefly(
        MUTATIONS,
        [MUTATIONS[i] for i in (0, 4, 12)],
        [MUTATIONS[i] for i in (1, 2, 5, 8, 11, 13, 14, 15)],
    ),
    ids=[list(mutation.values())[-1].__name__ for _, mutation in MUTATIONS],
)
def test_the_stationary_distribution_shows_it(check, mutation, monkeypatch):
    bug.SEEN.clear()
    for (owner, name), broken in mutation.items():
        monkeypatch.setattr(owner, name, broken)
    check = _kernel(check) if isinstance(check, str) else check
    with pytest.raises(AssertionError, match="standard errors"):
        check()


def test_the_rewritten_steps_are_the_library_s_but_for_their_bugs():
    aux, gradient, increment = jnp.array([0.3, -2.0]), jnp.array([5.0, 0.1]), jnp.array([0.2, 0.4])
    inputs, friction = (aux, gradient, increment, 0.3), 1.7
    right = bug.split_step(Splitting(friction), *inputs)
    np.testing.assert_allclose(Splitting(friction).step(*inputs), right, rtol=1e-6)
    right = bug.euler_step(None, *inputs, damp=friction, heat=np.sqrt(2 * friction))
    np.testing.assert_allclose(Hamiltonian(friction).step(*inputs), right, rtol=1e-6)


def assert_no_key_is_used_twice(name, monkeypatch, split=random.split):
    """Keys shared by noise and minibatch hardly change a distribution, so the keys are checked."""
    exact, used = stationary.linear.posterior(*stationary.LOCATION), []
    kernel = make(name, stationary.BATCHED, anchor=stationary.theta_of(exact))
    state = kernel.init(jax.random.key(0), 0, stationary.theta_of(exact), stationary.LOCATION, {})

    @jax.jit
    def advance(state):
        inside = []

        def watched(method):
            def record(self, key, *rest):
                inside.append(jax.random.key_data(key))
                return method(self, key, *rest)

            return record

        with monkeypatch.context() as patch:
            patch.setattr(Stepper, "increment", watched(bug.DRAW))
            patch.setattr(Stepper, "minibatch", watched(bug.BATCH))
            patch.setattr(random, "split", split)
            return kernel.sample(state, stationary.LOCATION, {}), inside

    for _ in range(3):
        state, inside = advance(state)
        used += [tuple(words.tolist()) for words in inside]
    assert len(used) >= 6
    assert len(set(used)) == len(used), "a key is used twice"


@pytest.mark.parametrize("name", ["SGLD", "SGRRLD"])  # all kernels share these two transitions
def test_no_key_is_used_twice(name, monkeypatch):
    assert_no_key_is_used_twice(name, monkeypatch)


@pytest.mark.parametrize("name", ["SGLD", "SGRRLD"])
def test_a_key_used_twice_is_noticed(name, monkeypatch):
    split = random.split
    last_twice = lambda key, n=2: split(key, n)[jnp.minimum(jnp.arange(n), n - 2)]  # noqa: E731
    with pytest.raises(AssertionError, match="a key is used twice"):
        assert_no_key_is_used_twice(name, monkeypatch, last_twice)
