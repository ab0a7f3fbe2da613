"""Classic bugs, each as a function that replaces one of the library's."""

from math import sqrt

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.dynamics import ExactFriction, Hamiltonian
from numpyro_sgmcmc.gradient import FixedPoint
from numpyro_sgmcmc.kernels import base
from numpyro_sgmcmc.model.handlers import minibatched
from numpyro_sgmcmc.stepper import Stepper

DRAW, STEP, BATCH = Stepper.increment, Stepper.step, Stepper.minibatch
ESTIMATE, TRANSITION = FixedPoint.estimate, base.taken
PLATE, EULER, FLIGHT = minibatched.process_message, Hamiltonian.step, ExactFriction.step


def increment_without_root(self, key, position, h):
    return DRAW(self, key, position, h) / jnp.sqrt(h)


def increment_with_root_twice(self, key, position, h):
    return DRAW(self, key, position, h) * jnp.sqrt(h)


def increment_with_temperature_as_deviation(self, key, position, h):
    return sqrt(self.temperature) * DRAW(self, key, position, h)


def langevin_without_root_two(self, aux, gradient, increment, h):
    return -h * gradient + increment, aux


def split_step(self, aux, gradient, increment, h, first=0.5, second=0.5, drift=0.5):
    kick = -h * gradient + jnp.sqrt(2.0 * self.friction) * increment
    damp = lambda share: jnp.exp(-share * self.friction * h)  # noqa: E731
    momentum = damp(second) * (damp(first) * aux + kick)
    return h * (0.5 * aux + drift * momentum), momentum


def independent_noises(self, aux, gradient, increment, h):
    """The right variances of both noises, and no covariance."""
    _, momentum = FLIGHT(self, aux, gradient, increment, h)
    displacement, _ = FLIGHT(self, aux, gradient, 0 * increment, h)
    loud, _ = FLIGHT(self, 0 * aux, 0 * gradient, jnp.ones_like(increment).at[1].set(0), h)
    alone, _ = FLIGHT(self, 0 * aux, 0 * gradient, jnp.ones_like(increment).at[0].set(0), h)
    return displacement + jnp.hypot(loud, alone) * increment[1], momentum


def whole_first_drift(self, aux, h, position):
    return h * aux


def whole_second_drift(*args):
    return split_step(*args, drift=1.0)


def whole_first_damp(*args):
    return split_step(*args, first=1.0)


def whole_second_damp(*args):
    return split_step(*args, second=1.0)


def euler_step(self, aux, gradient, increment, h, damp, heat):
    momentum = (1.0 - damp * h) * aux - h * gradient + heat * increment
    return h * momentum, momentum


def damping_with_friction_squared(self, *args):
    return euler_step(self, *args, self.friction**2, jnp.sqrt(2.0 * self.friction))


def noise_proportional_to_friction(self, *args):
    return euler_step(self, *args, self.friction, sqrt(2.0) * self.friction)


def old_momentum_moves(self, aux, gradient, increment, h):
    right = EULER(self, aux, gradient, increment, h)
    return h * aux, right[1]


def likelihood_unscaled(self, msg):
    # Outer handlers run after the plate, which has set the scale N / B.
    PLATE(self, msg)
    if msg["type"] == "sample":
        msg["scale"] = None


def control_variate_with_wrong_sign(self, potential, position, minibatch, state):
    right, state = ESTIMATE(self, potential, position, minibatch, state)
    plain = jax.grad(potential)(position, minibatch)
    return right._replace(gradient=2 * plain - right.gradient), state


def anchor_taken_for_a_mode(self, potential, position, minibatch, state):
    right, state = ESTIMATE(self, potential, position, minibatch, state)
    return right._replace(gradient=right.gradient - state.gradient), state


def key_never_advanced(stepper, count, state, walker):
    moved, walker = TRANSITION(stepper, count, state, walker)
    return moved._replace(rng_key=state.rng_key), walker


SEEN: list = []
"""Keys of the pair's transition that is being traced."""


def first_key_twice(self, key, position, h):
    SEEN.append(key)
    increment = DRAW(self, SEEN[0], position, h)
    if len(SEEN) == 2:
        SEEN.clear()
    return increment


def note_key(self, key, position, h):
    SEEN.append(key)
    return DRAW(self, key, position, h)


def coarse_walker_on_its_own_path(self, walker, minibatch, increment, h):
    if SEEN:  # the coarse step comes first
        fresh = jax.random.fold_in(SEEN[0], 1)
        SEEN.clear()
        increment = DRAW(self, fresh, walker.position, h)
    return STEP(self, walker, minibatch, increment, h)


def one_minibatch_for_all_walkers(self, key, count, state):
    SEEN.append(key)
    batch = BATCH(self, SEEN[0], count, state)
    if len(SEEN) == 3:
        SEEN.clear()
    return batch
