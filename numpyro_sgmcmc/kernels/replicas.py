"""The walkers of one chain at several temperatures: their first states and their transitions."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp

from numpyro_sgmcmc.cpu import random
from numpyro_sgmcmc.preparation import Options, View
from numpyro_sgmcmc.state import (
    Companion,
    ReplicaExchangeState,
    SGMCMCState,
    no_swaps,
    with_own_key,
)
from numpyro_sgmcmc.stepper import Stepper
from numpyro_sgmcmc.transition import Walker


class Replicas(NamedTuple):
    """The walkers of one chain with a leading axis, and the states of their minibatch schemes."""

    walkers: Walker
    schemes: Any


@final
@dataclass(frozen=True, eq=False)
class FirstReplicas:
    """The program that adds replicas to first states. All start where the coldest one starts."""

    options: Options
    temperatures: tuple[float, ...]
    is_single: bool

    @property
    def name(self) -> Any:
        """A name that is unique among the programs of a target."""
        return FirstReplicas, self.temperatures, self.is_single

    def run(self, view: View, states: SGMCMCState) -> ReplicaExchangeState:
        """Return the states."""
        first = partial(self._first, view)
        return first(states) if self.is_single else jax.vmap(first)(states)

    def _first(self, view: View, state: SGMCMCState) -> ReplicaExchangeState:
        count = len(self.temperatures) - 1
        own, *keys = random.split(state.rng_key, 1 + 2 * count)
        position = view.structure.ravel(state.z)
        dynamics = self.options.dynamics.with_friction(state.tuned.friction)
        scheme = self.options.scheme(state.tuned)
        hot = [
            Companion(
                dynamics.init(key_aux, position, temperature),
                state.gradient,
                state.preconditioner,
                scheme.init(key_scheme, view.plates),
            )
            for key_aux, key_scheme, temperature in zip(
                keys[:count], keys[count:], self.temperatures[1:], strict=True
            )
        ]
        return ReplicaExchangeState(
            **with_own_key(state._replace(rng_key=own))._asdict(),
            replica=jnp.zeros((), jnp.int32),
            hot_positions=jnp.broadcast_to(position, (count, *position.shape)),
            hot=jax.tree.map(lambda *leaves: jnp.stack(leaves), *hot),
            swaps=no_swaps(count + 1, state.weight.dtype),
        )


def unpacked(state: ReplicaExchangeState, ravel: Callable) -> Replicas:
    """Return the replicas of one chain, the coldest first."""
    cold = ravel(state.z), Companion(*(getattr(state, name) for name in Companion._fields))
    positions, others = jax.tree.map(
        lambda one, rest: jnp.concatenate([one[None], rest]), cold, (state.hot_positions, state.hot)
    )
    return Replicas(
        Walker(positions, others.aux, others.gradient, others.preconditioner), others.minibatch
    )


def packed(
    state: ReplicaExchangeState, replicas: Replicas, unravel: Callable
) -> ReplicaExchangeState:
    """Return the state with these replicas in it."""
    walkers, schemes = replicas
    others = Companion(walkers.aux, walkers.gradient, walkers.preconditioner, schemes)
    cold = jax.tree.map(lambda leaf: leaf[0], others)
    return state._replace(
        z=unravel(walkers.position[0]),
        **cold._asdict(),
        hot_positions=walkers.position[1:],
        hot=jax.tree.map(lambda leaf: leaf[1:], others),
    )


def stepped(
    stepper: Stepper, ratios: jax.Array, count: Any, state: Any, replicas: Replicas
) -> tuple[Any, Replicas]:
    """Return state and replicas after transition number `count`.

    Minibatches and increments of the replicas are independent. With common minibatches the replicas
    would share their gradient noise, and their joint distribution would not be a product.

    Args:
        stepper: at the temperature of the coldest replica.
        ratios: temperatures as multiples of the coldest one, (K,).
        count: number of the transition.
        state: of the chain.
        replicas: of the chain.
    """
    walkers, schemes = replicas
    size = len(ratios)
    keys = random.split(state.rng_key, 1 + 2 * size)
    h = jnp.asarray(stepper.step_size(count), walkers.position.dtype)

    def one(walker: Walker, scheme: Any, key_noise: Any, key_batch: Any, ratio: Any) -> Any:
        transition = stepper.transition
        if transition.correction is not None:
            cooled = transition.correction.at_temperature(ratio)
            transition = replace(transition, correction=cooled)
        minibatch, scheme = stepper.minibatch(key_batch, count, scheme)
        increment = jnp.sqrt(ratio) * stepper.increment(key_noise, walker.position, h)
        return replace(stepper, transition=transition).step(walker, minibatch, increment, h), scheme

    inputs = keys[1 : 1 + size], keys[1 + size :], ratios
    moved, schemes = jax.vmap(one)(walkers, schemes, *inputs)
    state = state._replace(
        rng_key=keys[0],
        step_size=h.astype(state.step_size.dtype),
        weight=state.weight + h.astype(state.weight.dtype),
        potential_energy=moved.potential_energy[0].astype(state.potential_energy.dtype),
        diverging=state.diverging | jnp.any(moved.diverging),
    )
    return state, Replicas(moved.walker, schemes)
